"""`iowhy why`: the verdict of a recording made before."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.options.described import switch
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working

EPILOG = """Examples:

  iowhy why fio.iowhy

  iowhy why fio.iowhy --json | jq '.findings[0]'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy why` is asked."""

    recording: Path = recording_read()
    as_json: bool = switch("--json", help="Print the verdict as JSON.")
    every: bool = switch("--all", help="Every finding, not only three.")


def command(options: Options) -> None:
    """Say where the time of a recording went and why."""
    from iowhy.overview import overview
    from iowhy.recording import open_recording
    from iowhy.views import verdict_page

    recording = open_recording(options.recording)
    with working(f"judging {options.recording}"):
        found = overview(recording, keep=True)
    verdict_page.print_verdict(found, as_json=options.as_json, every=options.every)
