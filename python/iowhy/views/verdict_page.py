"""The verdict of a recording: the answer first, then why, where the time went, and what is unknown."""

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.expect import Outcome
from iowhy.invocation import typed
from iowhy.messages import json_text, printable
from iowhy.recordings import Recording
from iowhy.recordings.experiments import Tested
from iowhy.views import budget_bar, expected_page, verdict_tables
from iowhy.views.styled import Text
from iowhy.views.terminal import console, paragraph
from iowhy.whys.finding import Finding
from iowhy.whys.verdict_json import as_json as verdict_as_json

if TYPE_CHECKING:  # slow to import
    from rich.console import Console

SHOWN = 3


def print_verdict(
    overview: Overview,
    *,
    as_json: bool = False,
    to_stderr: bool = False,
    every: bool = False,
    kept: bool = True,
    outcomes: Sequence[Outcome] = (),
) -> None:
    """Print the verdict, on the terminal or as the documented JSON object.

    `kept` is that the recording stays where it is, and can be asked more. `outcomes` are those of expectations.
    """
    if as_json:
        document = as_document(overview)
        if outcomes:
            document["expected"] = expected_page.as_json(outcomes)
        print(json_text(document))
    else:
        show(overview, console(to_stderr), every=every, kept=kept)


def as_document(overview: Overview) -> dict[str, Any]:
    """The documented object; each finding says what experiments made of it (`tested`, or null).

    `measures` are the numbers that `--expect` knows by name, null where one is unknown; a recording's alone.
    """
    made: dict[str, Any] = verdict_as_json(overview.verdict)
    for finding in made["findings"]:
        one = overview.tested.get(finding["cause"])
        finding["tested"] = None if one is None else asdict(one)
    if overview.measured:
        made["measures"] = dict(overview.measured)
    return made


def show(overview: Overview, out: "Console", *, every: bool = False, kept: bool = True) -> None:
    """Draw it; `every`: all findings, not only the first three."""
    found, recording = overview.verdict, overview.recording
    paragraph(out, f"iowhy: {found.answer}", "bold")
    for sentence in went_wrong(overview):
        paragraph(out, sentence, "yellow", 2)
    shown = found.findings if every else found.findings[:SHOWN]
    for number, finding in enumerate(shown, 1):
        out.print()
        _finding(out, number, finding, overview.tested.get(finding.cause))
    if len(found.findings) > len(shown):
        more = ", ".join(finding.cause for finding in found.findings[len(shown) :])
        rest = f" (iowhy why --all {typed(recording.path)})" if kept else ""
        paragraph(out, f"also: {more}{rest}", "dim", 2)
    budget_bar.show(out, overview)
    place = typed(recording.path)
    verdict_tables.show_machine(out, overview.suffering, overview.containers, place if kept else "")
    verdict_tables.show(
        out, overview.calls, overview.devices, overview.files, place if kept else ""
    )
    _unknown(out, overview)
    if not kept:
        return
    out.print()
    for command in found.commands.compare_again() or ():
        out.print(Text(f"after a change: {printable(command)}", "dim"), soft_wrap=True)
    more = (
        f"kept in {place}; more: `iowhy report files {place}`, or another of `iowhy report --list`"
    )
    paragraph(out, more, "dim")


def went_wrong(overview: Overview) -> tuple[str, ...]:
    """How the command ended, where it did not end well, and which of its calls failed."""
    ended = ending(overview.recording)
    return (*([] if ended is None else [ended]), *overview.verdict.failures)


def ending(recording: Recording) -> str | None:
    """How the command ended, where it did not end well; None when it did or nobody knows."""
    command = recording.manifest.command
    if command.signal is not None:
        return f"The command was ended by {_signal(command.signal)}."
    status = command.exit_status
    if not status:
        return None
    text = f"The command ended with exit status {status}"
    if status in _STATUSES:
        return f"{text} ({_STATUSES[status]})."
    if status > 128 and _signal(status - 128) != f"signal {status - 128}":
        return f"{text} (something in it was ended by {_signal(status - 128)})."
    return f"{text}."


def _signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name}, signal {number}"
    except ValueError:
        return f"signal {number}"


# As shells use them (POSIX, 2.8.2).
_STATUSES = {
    126: "something in it could not be run",
    127: "something in it was not found",
}


def _finding(out: "Console", number: int, finding: Finding, proven: Tested | None) -> None:
    sure = f"confidence {units.percent(proven.confidence if proven else finding.confidence)}"
    paragraph(
        out,
        f"{number}. {finding.title} ({finding.cause}): {units.percent(finding.share)} of {finding.share_of}, {sure}",
        "bold",
    )
    for link in finding.chain:
        paragraph(out, f"→ {link.statement}", "", 3)
    if not finding.healthy:
        paragraph(out, f"{finding.to_gain}: {finding.gain_condition}", "green", 3)
    for text in finding.against:
        paragraph(out, f"but {text}", "yellow", 3)
    for text in finding.lowered_by:
        paragraph(out, f"less sure: {text}", "dim", 3)
    if finding.remedies:
        paragraph(out, f"do: {finding.remedies[0]}", "bold green", 3)
        for remedy in finding.remedies[1:4]:
            paragraph(out, f"or: {remedy}", "green", 3)
    if proven is not None:
        paragraph(out, f"{proven.outcome} by an experiment: {proven.because}", "bold", 3)
    elif finding.proof:
        # On one line: it is there to be pasted.
        out.print(Text(f"   prove it: {printable(finding.proof)}", "dim"), soft_wrap=True)


def limits(overview: Overview) -> list[tuple[str, list[str]]]:
    """What was lost, what is unknown and what else is to be known, each under its title; only what there is."""
    found, manifest = overview.verdict, overview.recording.manifest
    lost = [
        f"{kept.lost:,} events of {name} were lost, {kept.kept:,} kept"
        for name, kept in manifest.tables.items()
        if kept.lost
    ]
    if not manifest.complete:
        lost.append("the recording was cut off: its end is missing")
    every = (("Lost", lost), ("Unknown", found.unknowns), ("Notes", found.notes))
    return [(title, list(dict.fromkeys(lines))) for title, lines in every if lines]


def _unknown(out: "Console", overview: Overview) -> None:
    for title, lines in limits(overview):
        out.print()
        out.print(Text(title, style="bold"), soft_wrap=True)
        for text in lines:
            paragraph(out, text, "dim", 2)
