"""All that a verdict rests on: findings with their whole chains, calls, devices, files, and what is not known."""

from typing import TYPE_CHECKING

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.invocation import typed
from iowhy.messages import printable
from iowhy.recordings.experiments import Tested
from iowhy.views import verdict_tables
from iowhy.views.limits import limits
from iowhy.views.styled import Text
from iowhy.views.terminal import paragraph
from iowhy.whys import classes
from iowhy.whys.finding import Finding
from iowhy.whys.verdict import Verdict

if TYPE_CHECKING:  # slow to import
    from rich.console import Console


def show(overview: Overview, out: "Console", *, every: bool, kept: bool = True) -> None:
    """Below the one screen: the first finding in full, or `every` one, then the tables. `kept`: more can be asked of the recording."""
    found = overview.verdict
    for number, finding in enumerate(found.findings if every else found.findings[:1], 1):
        out.print()
        _finding(out, number, found, finding, overview.tested.get(finding.cause))
    _would_help(out, overview)
    place = typed(overview.recording.path) if kept else ""
    verdict_tables.show_containers(out, overview.containers, place)
    sleeps = bool(found.findings) and classes.IDLE in found.findings[0].classes
    verdict_tables.show(out, overview.calls, overview.devices, overview.files, place, sleeps=sleeps)
    _limits(out, overview)
    if not kept:
        return
    out.print()
    for command in found.commands.compare_again() or ():
        out.print(Text(f"after a change: {printable(command)}", "dim"), soft_wrap=True)
    paragraph(
        out, f"more: `iowhy report files {place}`; `iowhy report --list` has all reports", "dim"
    )


def _finding(
    out: "Console", number: int, found: Verdict, finding: Finding, proven: Tested | None
) -> None:
    sure = f"{units.percent(proven.confidence if proven else finding.confidence)} sure"
    paragraph(
        out,
        f"{number}. {finding.title} ({finding.cause}): {units.percent(finding.share)} of {finding.share_of}, {sure}",
        "bold",
    )
    for link in finding.chain:
        paragraph(out, f"→ {link.statement}", "", 3)
    for text in finding.against:
        paragraph(out, f"But {text}.", "yellow", 3)
    if finding.also_fits:
        also = " and ".join(finding.also_fits)
        paragraph(out, f"It explains what points to {also}, too.", "dim", 3)
    for text in finding.lowered_by:
        paragraph(out, f"Less certain because {text}.", "dim", 3)
    for at, fix in enumerate(finding.fixes):
        page = f" ({fix.link})" if fix.link else ""
        said = f"{'or' if at else fix.label}: {fix.do}{page}. {' '.join(filter(None, found.worth(finding, at)))}"
        paragraph(out, said, "green" if at else "bold green", 3)
    if proven is not None:
        paragraph(out, f"{proven.outcome} by an experiment: {proven.because}", "bold", 3)
    elif finding.proof:
        # On one line: it is there to be pasted.
        out.print(Text(f"   Prove it: {printable(finding.proof)}", "dim"), soft_wrap=True)


def _would_help(out: "Console", overview: Overview) -> None:
    """Predictions in a line."""
    if overview.would_help:
        said = "; ".join(
            f"{one.change}: {units.duration(one.after_s * 1e9)}" for one in overview.would_help
        )
        now = units.duration(overview.would_help[0].before_s * 1e9)
        out.print()
        paragraph(out, f"Would help ({now} today): {said}. `iowhy what-if` says how sure that is.")


def _limits(out: "Console", overview: Overview) -> None:
    for title, lines in limits(overview):
        out.print()
        out.print(Text(title, style="bold"), soft_wrap=True)
        for text in lines:
            paragraph(out, text, "dim", 2)
