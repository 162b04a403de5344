"""The findings of a verdict: each link of its chain leads to the chart or table that shows it."""

from collections.abc import Mapping, Sequence

from iowhy import units
from iowhy.charts import Drawn
from iowhy.commands.overview import Overview
from iowhy.recordings.experiments import Tested
from iowhy.views.html.charts_html import figures
from iowhy.views.html.markup import Markup, Say, element, joined, lines
from iowhy.whys.chain import capital
from iowhy.whys.finding import Finding, Link
from iowhy.whys.verdict import Verdict

#: Fixes of the first finding at the top of the page; what more there is, is at the finding.
ABOVE = 2


def findings_section(
    overview: Overview, targets: Mapping[str, str], say: Say, proof: Sequence[Drawn] = ()
) -> Markup:
    """The first finding with `proof`, the charts that show it; others fold. `targets` are anchors by the report that they show."""
    findings = overview.verdict.findings
    if not findings:
        return Markup("")
    first, *others = (
        _finding(number, overview.verdict, one, overview.tested.get(one.cause), targets, say)
        for number, one in enumerate(findings, 1)
    )
    folded = [
        element("details", element("summary", _summary(one)), made)
        for one, made in zip(findings[1:], others, strict=True)
    ]
    return element("section", element("h2", "Why"), first, figures(proof), lines(*folded), id="why")


def _summary(one: Finding) -> str:
    gain = "" if one.healthy else f", could save up to {units.percent(one.gain)}"
    return f"{one.title} ({one.cause}): {units.percent(one.share)} of {one.share_of}{gain}"


def _finding(
    number: int,
    found: Verdict,
    one: Finding,
    proven: Tested | None,
    targets: Mapping[str, str],
    say: Say,
) -> Markup:
    sure = f"{units.percent(proven.confidence if proven else one.confidence)} sure"
    share = f"{units.percent(one.share)} of {one.share_of} · "
    badge = element("span", str(number), class_="badge") if len(found.findings) > 1 else ""
    parts = [
        element("h3", badge, f" {one.title} ", element("span", one.cause, class_="cause")),
        element("p", sure if one.healthy else share + sure, class_="share"),
        element("ol", *(_link(link, targets, say) for link in one.chain), class_="chain"),
    ]
    parts += [element("p", f"But {say(text)}", class_="against") for text in one.against]
    if one.also_fits:
        also = " and ".join(one.also_fits)
        parts.append(element("p", f"It explains what points to {also}, too.", class_="hint"))
    parts += [
        element("p", f"Less certain because {say(text)}", class_="hint") for text in one.lowered_by
    ]
    # The first finding's are at the top of the page, unless it has more.
    above = ABOVE if number == 1 and not found.too_short else 0
    fixes = [_fix(found, one, at, say) for at in range(above, len(one.fixes))]
    if fixes and not one.healthy:
        title = "What else helps" if above else "What helps, cheapest first"
        parts += [element("p", element("b", title)), element("ul", *fixes, class_="remedies")]
    if proven is not None:
        said = f"{proven.outcome} by an experiment: {proven.because}"
        parts.append(element("p", element("b", say(capital(said)))))
    elif one.proof:
        parts.append(element("p", "Prove it: ", element("code", say(one.proof)), class_="hint"))
    return element("article", lines(*parts), id=f"finding-{number}", class_="finding")


def _fix(found: Verdict, one: Finding, number: int, say: Say) -> Markup:
    fix = one.fixes[number]
    link = f" ({fix.link})" if fix.link else ""
    said = " ".join(filter(None, found.worth(one, number)))
    return element(
        "li", with_commands(say(f"{fix.do}{link}")), element("p", say(said), class_="hint")
    )


def _link(link: Link, targets: Mapping[str, str], say: Say) -> Markup:
    text = with_commands(say(link.statement))
    target = targets.get(link.report)
    if target is None:
        return element("li", text)
    shown = element("a", "show", href=f"#{target}", aria_label=f"show the {link.report} behind it")
    return element("li", text, " ", shown)


def with_commands(text: str) -> Markup:
    """A sentence: what is between backticks is a command."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return joined(text)
    return joined(*(element("code", one) if at % 2 else one for at, one in enumerate(parts)))
