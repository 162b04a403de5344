"""`iowhy why`: the verdict of a recording made before."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.cli._boxed import opened
from iowhy.cli._expected import list_expected, status_of
from iowhy.cli._statuses import DONE
from iowhy.commands.judge import expected_of, judge
from iowhy.errors import Problem
from iowhy.options.budgets import Budgets
from iowhy.options.described import group, option, switch
from iowhy.options.process_ids import pids_given
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working

EPILOG = """Examples:

  iowhy why fio.iowhy

  iowhy why machine.iowhy --pid 4711

  iowhy why fio.iowhy --at 7s

  iowhy why --expect 'sync_calls <= 10' fio.iowhy

  iowhy why fio.iowhy --json | jq '.findings[0]'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy why` is asked."""

    recording: Path = recording_read()
    as_json: bool = switch("--json", help="Print the verdict as JSON.")
    pids: tuple[int, ...] = pids_given("Of these processes alone, as if they had been watched.")
    phase: int | None = option(
        "--phase", metavar="N", least=1, help="Of this phase alone (`iowhy report phases`)."
    )
    at: str | None = option(
        "--at", metavar="TIME", help="Of the phase in which this is: 7s after the start, or a time."
    )
    evidence: bool = switch("--evidence", help="All that the first finding rests on, too.")
    every: bool = switch("--all", help="Every finding in full, too.")
    budgets: Budgets = group(Budgets, panel="What it may cost")


def command(options: Options) -> None:
    """Say where the time of a recording went and why."""
    if "list" in options.budgets.expected:
        list_expected()
        return
    expected = expected_of(options.budgets)
    if options.pids or options.phase is not None or options.at is not None:
        if expected.anything:
            given = "pid" if options.pids else "at" if options.phase is None else "phase"
            raise Problem("part-with-expect", given=given)
        _of_a_part(options)
        return
    from iowhy.commands.overview import overview
    from iowhy.views import verdict_page
    from iowhy.views.judged import publish

    recording = opened(options.recording, *options.budgets.written)
    with working(f"judging {options.recording}"):
        found = overview(
            recording,
            measured=options.as_json,
            evidence=options.evidence or options.every,
            would_help=(options.evidence or options.every) and not options.as_json,
        )
        judged = judge(recording, found.verdict, expected)
    verdict_page.print_verdict(
        found,
        as_json=options.as_json,
        every=options.every,
        evidence=options.evidence,
        outcomes=judged.outcomes,
    )
    publish(judged, expected, found.verdict)
    status = status_of(judged)
    if status != DONE:
        raise SystemExit(status)


def _of_a_part(options: Options) -> None:
    from iowhy.commands.overview import overview_of
    from iowhy.views import verdict_page

    recording = opened(options.recording)
    with working(f"judging {options.recording}"):
        found = overview_of(recording, options.pids, phase=options.phase, at=options.at)
    verdict_page.print_verdict(
        found, as_json=options.as_json, every=options.every, evidence=options.evidence
    )
