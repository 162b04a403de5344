"""The top of a recording's page: what is slow, the fix with its saving and risk, and the time now and after the fix."""

from collections.abc import Sequence

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.views.html.budget_html import budget_svg, legend
from iowhy.views.html.findings_html import ABOVE, with_commands
from iowhy.views.html.markup import Markup, Say, element, lines
from iowhy.whys import classes, phases
from iowhy.whys.finding import Finding
from iowhy.whys.verdict import Verdict


def answer_section(overview: Overview, wrong: Sequence[str], say: Say) -> Markup:
    """The headline, and below it what to do; `wrong` is how the command ended, if not well."""
    found = overview.verdict
    first = found.findings[0] if found.findings else None
    leads = first is not None and not first.healthy and not found.too_short
    return element(
        "header",
        element(
            "h1",
            with_commands(say(found.headline)),
            element("span", f" {first.cause}", class_="cause") if leads and first else "",
            id="answer",
            tabindex=-1,
        ),
        *(element("p", say(one), class_="warning") for one in wrong),
        _doubt(found, say),
        _fixes(found, first, say) if leads and first is not None else "",
        _picture(found, first if leads else None),
        _when(found, say),
    )


def _when(found: Verdict, say: Say) -> Markup:
    """What was done when, if that changes."""
    done = phases.in_words(found.phases)
    if not done:
        return Markup("")
    items = (element("li", say(one)) for one in done)
    return lines(element("p", "When", class_="hint"), element("ol", *items))


def _doubt(found: Verdict, say: Say) -> Markup:
    """The suspects if no cause explains most of the time, and the command that would decide."""
    if found.doubt is None:
        return Markup("")
    suspects = (
        element(
            "div", element("dt", "or" if number else "Could be"), element("dd", say(one.sentence))
        )
        for number, one in enumerate(found.doubt.suspects)
    )
    command = found.doubt.decided_by
    decides = (
        element("div", element("dt", "Find out"), element("dd", with_commands(say(command))))
        if command
        else ""
    )
    missing = found.doubt.missing
    lacks = element("div", element("dt", "Missing"), element("dd", say(missing))) if missing else ""
    return element("dl", *suspects, lacks, decides, class_="fixes")


def _fixes(found: Verdict, first: Finding, say: Say) -> Markup:
    worths = [found.worth(first, number, brief=True) for number in range(len(first.fixes[:ABOVE]))]
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", "or" if number else fix.label),
                element(
                    "dd",
                    element("b", with_commands(say(fix.do))),
                    element("p", say(saved), class_="gain") if saved else "",
                    element("p", say(risk), class_="hint"),
                ),
            )
            for number, (fix, (saved, risk)) in enumerate(zip(first.fixes, worths, strict=False))
        ),
        class_="fixes",
    )


def _picture(found: Verdict, first: Finding | None) -> Markup:
    """The time by class as a bar, and what would be left of it at best as another."""
    budget = found.budget
    now = [
        (line.cls, line.elapsed_share)
        for line in budget.lines
        if line.elapsed_share >= 0.0005 and not (budget.left_out and line.cls == classes.RECORDER)
    ]
    whole = sum(share for _, share in now)
    if not budget.known or not whole:
        return Markup("")
    bars = [("Now", now, 0.0)]
    if first is not None and first.gain and not any(fix.looks for fix in first.fixes[:1]):
        claimed = [name for name, _ in now if name in first.classes]
        if claimed and budget.basis == "threads":
            after = _without(now, claimed, first.gain * whole)
            bars.append(("After the fix, at best", after, first.gain))
    return element(
        "figure",
        lines(
            *(
                element(
                    "div",
                    element("span", f"{words}: {_long(found, gain)}", class_="hint")
                    if len(bars) > 1
                    else "",
                    budget_svg(parts, whole),
                )
                for words, parts, gain in bars
            ),
            legend(now, whole),
        ),
        class_="saving",
    )


def _long(found: Verdict, gain: float) -> str:
    seconds = found.shares_of_s
    return (
        units.percent(1.0 - gain) if seconds is None else units.duration(seconds * 1e9 * (1 - gain))
    )


def _without(
    parts: Sequence[tuple[str, float]], claimed: Sequence[str], saved: float
) -> list[tuple[str, float]]:
    """The parts without what is saved, taken from those that the finding claims in proportion."""
    of_those = sum(share for name, share in parts if name in claimed)
    left = max(0.0, 1.0 - saved / of_those)
    return [(name, share * left if name in claimed else share) for name, share in parts]
