"""`iowhy why`: the verdict of a recording made before."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.cli._expected import judge_expected, read_expected, status_of
from iowhy.cli._statuses import DONE
from iowhy.options.described import option, switch
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working

EPILOG = """Examples:

  iowhy why fio.iowhy

  iowhy why --expect 'sync_calls <= 10' fio.iowhy

  iowhy why fio.iowhy --json | jq '.findings[0]'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy why` is asked."""

    recording: Path = recording_read()
    as_json: bool = switch("--json", help="Print the verdict as JSON.")
    expected: tuple[str, ...] = option(
        "--expect",
        default=(),
        metavar="'NAME <= N'",
        help="End with 3 where the run cost more, e.g. 'sync_calls <= 10'.",
    )
    every: bool = switch("--all", help="Every finding, not only three.")


def command(options: Options) -> None:
    """Say where the time of a recording went and why."""
    expected = read_expected(options.expected)
    from iowhy.overview import overview
    from iowhy.recording import open_recording
    from iowhy.views import verdict_page

    recording = open_recording(options.recording)
    with working(f"judging {options.recording}"):
        found = overview(recording, keep=True)
        outcomes = judge_expected(recording, found.verdict, expected)
    verdict_page.print_verdict(
        found, as_json=options.as_json, every=options.every, outcomes=outcomes
    )
    status = status_of(outcomes)
    if status != DONE:
        raise SystemExit(status)
