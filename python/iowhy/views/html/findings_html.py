"""The findings of a verdict: each link of its chain leads to the chart or table that shows it."""

from collections.abc import Mapping

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.recordings.experiments import Tested
from iowhy.views.html.markup import Markup, Say, element, joined, lines
from iowhy.whys.chain import capital
from iowhy.whys.finding import Finding, Link


def findings_section(overview: Overview, targets: Mapping[str, str], say: Say) -> Markup:
    """All findings; `targets` are anchors by the report that they show."""
    findings = overview.verdict.findings
    if not findings:
        return Markup("")
    made = [
        _finding(number, one, overview.tested.get(one.cause), targets, say)
        for number, one in enumerate(findings, 1)
    ]
    return element("section", element("h2", "Why"), lines(*made), id="why")


def _finding(
    number: int, one: Finding, proven: Tested | None, targets: Mapping[str, str], say: Say
) -> Markup:
    sure = proven.confidence if proven else one.confidence
    parts = [
        element(
            "h3",
            element("span", str(number), class_="badge"),
            f" {one.title} ",
            element("span", one.cause, class_="cause"),
        ),
        element(
            "p",
            element("b", units.percent(one.share)),
            f" of {one.share_of} · confidence {units.percent(sure)}",
            class_="share",
        ),
        element("ol", *(_link(link, targets, say) for link in one.chain), class_="chain"),
    ]
    if not one.healthy:
        gain = capital(f"{one.to_gain}: {one.gain_condition}")
        parts.append(element("p", say(gain), class_="gain"))
    parts += [element("p", f"But {say(text)}", class_="against") for text in one.against]
    parts += [element("p", f"Less sure: {say(text)}", class_="hint") for text in one.lowered_by]
    if one.remedies:
        remedies = (element("li", with_commands(say(text))) for text in one.remedies)
        parts.append(element("p", element("b", "What to do, the cheapest first")))
        parts.append(element("ul", *remedies, class_="remedies"))
    if proven is not None:
        said = f"{proven.outcome} by an experiment: {proven.because}"
        parts.append(element("p", element("b", say(capital(said)))))
    elif one.proof:
        parts.append(element("p", "Prove it: ", element("code", say(one.proof)), class_="hint"))
    return element("article", lines(*parts), id=f"finding-{number}", class_="finding")


def _link(link: Link, targets: Mapping[str, str], say: Say) -> Markup:
    text = with_commands(say(link.statement))
    target = targets.get(link.report)
    if target is None:
        return element("li", text)
    shown = element("a", "show", href=f"#{target}", aria_label=f"show the {link.report} behind it")
    return element("li", text, " ", shown)


def with_commands(text: str) -> Markup:
    """A sentence: what stands between backticks is a command."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return joined(text)
    return joined(*(element("code", one) if at % 2 else one for at, one in enumerate(parts)))
