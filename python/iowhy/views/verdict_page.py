"""The verdict of a recording on one screen: what is slow, the fix with its saving and risk, three facts, and where to read more."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import asdict

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.expect import Outcome
from iowhy.invocation import typed
from iowhy.messages import json_text, printable
from iowhy.views import budget_bar, evidence_page, expected_page, verdict_tables
from iowhy.views.limits import limits, went_wrong
from iowhy.views.styled import Text, cell_len
from iowhy.views.terminal import WIDTH, console, labelled, paragraph, wrapped
from iowhy.whys import phases
from iowhy.whys.finding import Finding
from iowhy.whys.remedy import LABELS
from iowhy.whys.verdict import Verdict
from iowhy.whys.verdict_json import as_json as verdict_as_json

if TYPE_CHECKING:  # slow to import
    from rich.console import Console

_NUMBER = re.compile(r"\d[\d,.]*\b")
#: What a screen holds at most, at 80 columns.
LINES, WORDS = 25, 180
#: The answer with the first fix and its risk: what the fix takes gives way to that.
ANSWER = 7
#: Facts below the answer and fixes: as many of them as fit, the first ones best.
_AMOUNTS = ((3, 2), (2, 2), (1, 2), (1, 1), (0, 1))
#: Other findings that have a line each.
OTHERS = 2
#: What saves less is counted, not named.
WORTH_A_LINE = 0.1
#: From here on, how sure it is goes without saying.
SURE = 0.9


def print_verdict(
    overview: Overview,
    *,
    as_json: bool = False,
    to_stderr: bool = False,
    every: bool = False,
    evidence: bool = False,
    kept: bool = True,
    outcomes: Sequence[Outcome] = (),
) -> None:
    """Print the verdict, on the terminal or as the documented JSON object.

    `evidence` adds all that the first finding rests on, `every` all findings. `kept` is that the recording is kept, and can be asked more. `outcomes` are those of expectations.
    """
    if as_json:
        document = as_document(overview)
        if outcomes:
            document["expected"] = expected_page.as_json(outcomes)
        print(json_text(document))
    else:
        out = console(to_stderr)
        show(overview, out, kept=kept)
        if evidence or every:
            evidence_page.show(overview, out, every=every, kept=kept)


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


def show(
    overview: Overview,
    out: "Console",
    *,
    kept: bool = True,
    below: Callable[["Console"], None] | None = None,
) -> None:
    """Draw the one screen, with as many facts and fixes as fit; `below` draws what else belongs on it."""
    conditions = True
    for facts, fixes in _AMOUNTS:
        sheet = _sheet(overview, out, facts, fixes, conditions, kept)
        if conditions and sheet.answered > ANSWER:
            conditions = False
            sheet = _sheet(overview, out, facts, fixes, conditions, kept)
        if below is not None:
            below(cast("Console", sheet))
        words = sum(len(line.plain.split()) for line in sheet.lines)
        if len(sheet.lines) <= LINES and words <= WORDS:
            break
    for line in sheet.lines:
        out.print(line, soft_wrap=True)


def _sheet(
    overview: Overview, out: "Console", facts: int, fixes: int, conditions: bool, kept: bool
) -> "_Sheet":
    sheet = _Sheet(out)
    _draw(overview, cast("Console", sheet), facts, fixes, conditions, kept)
    return sheet


class _Sheet:
    """Lines that are not printed yet, as wide and coloured as a console."""

    def __init__(self, out: "Console") -> None:
        self.width, self.color_system = out.width, out.color_system
        self.lines: list[Text] = []

    def print(self, line: Text | None = None, *, soft_wrap: bool = True) -> None:  # noqa: ARG002
        """One more line."""
        self.lines.append(Text() if line is None else line)

    @property
    def answered(self) -> int:
        """Lines down to the end of the first fix; 0 without one."""
        texts = [line.plain for line in self.lines]
        first = next((at for at, text in enumerate(texts) if text.startswith(LABELS)), None)
        if first is None:
            return 0
        return next(
            (at for at in range(first + 1, len(texts)) if not texts[at].startswith(" ")), len(texts)
        )


def _draw(
    overview: Overview, out: "Console", facts: int, fixes: int, conditions: bool, kept: bool
) -> None:
    found = overview.verdict
    first = found.findings[0] if found.findings else None
    _headline(out, found, first)
    for sentence in went_wrong(overview):
        paragraph(out, sentence, "yellow")
    _doubt(out, found)
    if first is not None and not found.too_short:
        _fixes(out, found, first, fixes, conditions)
        verdict_tables.show_machine(out, overview.suffering)
        verdict_tables.show_statements(out, overview.statements, typed(overview.recording.path))
        _facts(out, found, first, facts)
        _sure(out, overview, first)
    _when(out, found)
    budget_bar.show(out, overview)
    out.print()
    _others(out, overview, kept)
    _limits(out, overview)
    _more(out, overview, first, kept)


def _headline(out: "Console", found: Verdict, first: Finding | None) -> None:
    """The answer, with the cause's name at its end."""
    lines = wrapped(out, found.headline)
    label = "" if first is None or first.healthy or found.too_short else first.cause
    width = min(out.width, WIDTH)
    room = width - cell_len(lines[-1]) - cell_len(label)
    for line in lines[:-1]:
        out.print(Text(line, "bold"), soft_wrap=True)
    last = Text(lines[-1], "bold")
    if label and room >= 2:
        last.append(" " * room + label, "dim")
    out.print(last, soft_wrap=True)
    if label and room < 2:
        out.print(Text(label.rjust(width), "dim"), soft_wrap=True)


def _doubt(out: "Console", found: Verdict) -> None:
    """The suspects if no cause explains most of the time, the evidence that is missing, and the command that would decide."""
    if found.doubt is None:
        return
    out.print()
    for number, one in enumerate(found.doubt.suspects):
        labelled(out, "or" if number else "Could be", f"{one.sentence}.")
    if found.doubt.missing:
        labelled(out, "Missing", f"{found.doubt.missing}.")
    if found.doubt.decided_by:
        labelled(out, "Find out", f"{found.doubt.decided_by}.")


def _fixes(out: "Console", found: Verdict, first: Finding, most: int, conditions: bool) -> None:
    """What to do, what that saves at best and risks."""
    out.print()
    for number, fix in enumerate(first.fixes[:most]):
        labelled(out, "or" if number else fix.label, fix.do, "green" if number else "bold green")
        worth = found.worth(first, number, brief=True, conditions=conditions)
        labelled(out, "", " ".join(filter(None, worth)))
        if first.gain_with and not number:
            also = " and ".join(
                f"{cause} ({units.percent(share)} of {first.share_of})"
                for cause, share in first.gain_with
            )
            labelled(out, "", f"It also fixes {also}.")


def _facts(out: "Console", found: Verdict, first: Finding, most: int) -> None:
    """The numbers that the answer rests on and does not say itself; of paths through the program the first."""
    said = set(_NUMBER.findall(found.headline))
    links = [one for one in first.chain if not (one.report == "budget" and one.unit == "share")]
    of_code = [one for one in links if one.frames][:1] if most > 1 else []
    new = [one for one in links if not one.frames and _adds(one.statement, said)]
    facts = new[: most - len(of_code)] + of_code
    if facts or first.healthy:
        out.print()
    for number, one in enumerate(facts):
        labelled(out, "" if number else "Because", one.statement)


def _adds(statement: str, said: set[str]) -> bool:
    """Whether it has a number that was not said, or none at all."""
    numbers = set(_NUMBER.findall(statement))
    return not numbers or not numbers <= said


def _sure(out: "Console", overview: Overview, first: Finding) -> None:
    """How sure it is if anything lowers that, and how to prove it."""
    proven = overview.tested.get(first.cause)
    if proven is not None:
        sure = f"{units.percent(proven.confidence)}: {proven.outcome} by an experiment: {proven.because}."
        labelled(out, "Sure?", sure)
        return
    less = f": {first.lowered_by[0]}" if first.lowered_by else ""
    but = f" But {first.against[0]}." if first.against else ""
    if less or but or first.confidence < SURE:
        labelled(out, "Sure?", f"{units.percent(first.confidence)}{less}.{but}")
    if first.proof:
        # On one line: it is there to be pasted.
        out.print(Text(f"Prove it {printable(first.proof)}", "dim"), soft_wrap=True)


def _when(out: "Console", found: Verdict) -> None:
    """What was done when, if that changes."""
    labelled(out, "When", " · ".join(phases.in_words(found.phases)))


def _others(out: "Console", overview: Overview, kept: bool) -> None:
    """The other findings, in a line each as long as they could save enough; the rest is counted."""
    found = overview.verdict
    ended = {cause for cause, _ in found.findings[0].gain_with} if found.findings else set()
    others = [one for one in found.findings[1:] if one.cause not in ended]
    moments = [one for one in others if one.moment and one.headline is not None]
    large = [one for one in others if one.gain >= WORTH_A_LINE and one not in moments]
    large = [*moments, *large][:OTHERS]
    for number, one in enumerate(large):
        said = (
            f"{one.cause}: {one.headline}"
            if one in moments
            else f"{one.cause}: {units.percent(one.share)} of {one.share_of}"
            f", could save up to {units.percent(one.gain)}"
        )
        labelled(out, "" if number else "Also", said)
    if len(others) > len(large):
        rest = len(others) - len(large)
        where = f": iowhy why {typed(overview.recording.path)} --all" if kept else ""
        smaller = f"{rest} smaller finding{'' if rest == 1 else 's'}{where}"
        labelled(out, "" if large else "Also", smaller)


def _limits(out: "Console", overview: Overview) -> None:
    """One line of each kind of what is not known; the evidence has all."""
    for title, texts in limits(overview):
        more = "" if len(texts) == 1 else f" (and {len(texts) - 1} more)"
        text = texts[0]
        room = 2 * (min(out.width, WIDTH) - 9) - len(more)
        labelled(out, title, (text if len(text) <= room else f"{text[: room - 1]}…") + more, "dim")


def _more(out: "Console", overview: Overview, first: Finding | None, kept: bool) -> None:
    place = typed(overview.recording.path)
    explained = f"iowhy explain {first.cause}" if first is not None and not first.healthy else ""
    if kept:
        evidence = f"iowhy why {place} --evidence"
        explained = explained.removeprefix("iowhy ")
        text = " · ".join(one for one in (evidence, explained, "html --open") if one)
    else:
        text = explained
    if text:
        out.print(Text(f"{'More':<9}{printable(text)}", "dim"), soft_wrap=True)
