"""The page of a comparison: the difference, where it is, what became of the findings, both runs side by side."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from iowhy import units
from iowhy.charts import Drawn
from iowhy.comparisons.comparison import Comparison
from iowhy.views import class_marks, comparison_page
from iowhy.views.html import charts_html
from iowhy.views.html.budget_html import budget_svg
from iowhy.views.html.markup import Markup, Say, element, lines
from iowhy.views.html.tables_html import table
from iowhy.views.html.whole_page import whole_page
from iowhy.whys import classes

#: Charts that both runs have side by side, on one scale of time.
BESIDE = (
    "budget-over-time",
    "request-latency-over-time",
    "call-latency-over-time",
    "addresses-over-time",
)
FLAME = "time-of-threads"
#: Why a stretch of time narrows the charts and not these tables.
_WHOLE = charts_html.of_whole_run("the same seconds of two runs are not the same work")


def comparison_html(
    found: Sequence[Comparison],
    drawn: Sequence[Sequence[Drawn]],
    say: Say = lambda text: text,
    *,
    redacted: bool = False,
) -> str:
    """The whole file: each of `found` is one side against the first; `drawn` are the charts of each side's typical recording."""
    names = [found[0].before.label, *(one.after.label for one in found)]
    sides = list(zip(_sides(names), drawn, strict=True))
    body = [
        _head(found, say, redacted),
        Markup("<main>"),
        *(_part(one, f"{nth}-" if len(found) > 1 else "", say) for nth, one in enumerate(found, 2)),
        _charts(sides, say),
        Markup("</main>"),
    ]
    title = f"{say(', '.join(names[1:]))} against {say(names[0])}"
    return whole_page(title, body, _data(found, sides, say))


def _sides(names: Sequence[str]) -> list[tuple[str, str]]:
    """Each side's name in the page's data, and in the titles of its charts."""
    if len(names) == 2:
        return [("before", "before"), ("after", "after")]
    return [(f"side-{nth}", name) for nth, name in enumerate(names, 1)]


def _head(found: Sequence[Comparison], say: Say, redacted: bool) -> Markup:
    headlines = [comparison_page.headline(one) for one in found]
    several = len(found) > 1
    first = f"{len(found)} against {found[0].before.label}" if several else headlines[0]
    sure = [
        element("p", text, class_="hint")
        for one in found
        for text in comparison_page.evidence(
            one.time, len(one.before.seconds), len(one.after.seconds)
        )
    ]
    if redacted:
        sure.append(
            element(
                "p",
                "Paths, arguments, and names of hosts, users and programs were replaced by tokens.",
                class_="hint",
            )
        )
    items = [
        element("li", element("a", say(text), href=f"#side-{nth}"))
        for nth, text in enumerate(headlines, 2)
    ]
    return element(
        "header",
        element("p", element("b", "iowhy compare"), class_="name"),
        element("h1", say(first), id="answer", tabindex=-1),
        element("ul", *items) if several else "",
        lines(*dict.fromkeys(sure)),
    )


def _part(found: Comparison, part: str, say: Say) -> Markup:
    """One side against the first; `part` goes before its ids if there are several."""
    made = [
        _difference(found, part),
        _findings(found, part, say),
        _statements(found, part, say),
        _layers(found, part, say),
        _latencies(found, part, say),
        _paths(found, part, say),
    ]
    if not part:
        return lines(*made)
    title = element("h1", say(comparison_page.headline(found)), class_="part")
    return element("section", title, lines(*made), id=f"side-{part[:-1]}")


def _difference(found: Comparison, part: str) -> Markup:
    if not found.parts:
        return Markup("")
    sides = [
        ("before", [(one.name, one.before_s) for one in found.parts]),
        ("after", [(one.name, one.after_s) for one in found.parts]),
    ]
    whole = max(sum(seconds for _, seconds in parts) for _, parts in sides) or 1.0
    order = {name: at for at, name in enumerate(classes.ALL)}
    bars = [
        lines(
            element(
                "p", f"{side}: {units.duration(sum(s for _, s in parts) * 1e9)}", class_="hint"
            ),
            budget_svg(sorted(parts, key=lambda one: order[one[0]]), whole),
        )
        for side, parts in sides
    ]
    heads = comparison_page.PART_HEADS
    fields = comparison_page.fields_of(heads)
    return element(
        "section",
        element("h2", "Where the difference is"),
        lines(*bars),
        table(fields, comparison_page.part_rows(found), caption="Elapsed time by class"),
        _WHOLE,
        id=f"{part}difference",
    )


def _findings(found: Comparison, part: str, say: Say) -> Markup:
    if not found.fates:
        return Markup("")
    items = (element("li", say(comparison_page.fate_text(one))) for one in found.fates)
    return element(
        "section",
        element("h2", "What became of the findings"),
        element("ul", *items),
        id=f"{part}findings",
    )


def _texts(
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    say: Say,
    caption: str | None = None,
) -> Markup:
    """A table of texts, the first column of names."""
    fields = comparison_page.fields_of(heads)
    return table(fields, [[say(str(cell)) for cell in row] for row in rows], caption=caption)


def _layers(found: Comparison, part: str, say: Say) -> Markup:
    if not found.changed:
        return Markup("")
    rows = comparison_page.layer_rows(found)
    return element(
        "section",
        element("h2", "What changed at each layer"),
        _texts(comparison_page.LAYER_HEADS, rows, say),
        _WHOLE,
        id=f"{part}layers",
    )


def _latencies(found: Comparison, part: str, say: Say) -> Markup:
    """Percentiles of requests and of calls, each as before → after."""
    made = []
    for what, side in (("requests", found.latencies), ("calls", found.call_latencies)):
        if side:
            heads = (what, *comparison_page.LATENCY_HEADS[1:])
            rows = comparison_page.latency_rows(side)
            made.append(_texts(heads, rows, say, f"How long {what} took, before → after"))
    if not made:
        return Markup("")
    return element(
        "section",
        element("h2", "How long requests and calls took"),
        *made,
        _WHOLE,
        id=f"{part}latencies",
    )


def _statements(found: Comparison, part: str, say: Say) -> Markup:
    if not found.statements:
        return Markup("")
    rows = comparison_page.statement_rows(found)
    return element(
        "section",
        element("h2", "Which statements take more or less time"),
        _texts(comparison_page.STATEMENT_HEADS, rows, say, "One run of each"),
        id=f"{part}statements",
    )


def _paths(found: Comparison, part: str, say: Say) -> Markup:
    if not found.paths:
        return Markup("")
    rows = comparison_page.path_rows(found)
    return element(
        "section",
        element("h2", "Whose code takes more or less time"),
        _texts(comparison_page.PATH_HEADS, rows, say, "Time of all threads"),
        _WHOLE,
        id=f"{part}paths",
    )


def _charts(sides: Sequence[tuple[tuple[str, str], Sequence[Drawn]]], say: Say) -> Markup:
    rows = []
    for nth, first in enumerate(sides[0][1]):
        if first.chart.name in BESIDE:
            figures = [
                charts_html.figure(_called(drawn[nth], key, say(name)))
                for (key, name), drawn in sides
            ]
            rows.append(element("div", lines(*figures), class_="beside"))
    flames = [_flame(sides, nth, say) for nth in range(1, len(sides))]
    return element(
        "section",
        element("h2", "Side by side"),
        charts_html.NOSCRIPT,
        charts_html.chosen_time(),
        lines(*flames),
        lines(*rows),
        id="charts",
    )


def _flame(sides: Sequence[tuple[tuple[str, str], Sequence[Drawn]]], nth: int, say: Say) -> Markup:
    """The differential flame graph of one side against the first, or why there is none."""
    two = [one for _, drawn in (sides[0], sides[nth]) for one in drawn if one.chart.name == FLAME]
    drawn = all(one.missing is None for one in two)
    (_, before), (_, after) = sides[0][0], sides[nth][0]
    return element(
        "figure",
        element(
            "figcaption",
            element("h3", f"All time of all threads, {say(before)} and {say(after)}"),
            element(
                "p",
                "Which threads, calls and waits take longer, and which less?",
                class_="question",
            ),
        ),
        element("div", "", class_="drawing", data_chart=_flame_name(len(sides), nth))
        if drawn
        else element("p", two[0].missing or two[-1].missing or "", class_="missing"),
        id=f"chart-{_flame_name(len(sides), nth)}",
        class_="chart difference",
    )


def _flame_name(sides: int, nth: int) -> str:
    return "difference" if sides == 2 else f"difference-{nth + 1}"


def _called(one: Drawn, key: str, name: str) -> Drawn:
    """The chart under a name of its side."""
    chart = replace(one.chart, name=f"{key}-{one.chart.name}", title=f"{one.chart.title}: {name}")
    return replace(one, chart=chart)


def _data(
    found: Sequence[Comparison],
    sides: Sequence[tuple[tuple[str, str], Sequence[Drawn]]],
    say: Say,
) -> dict[str, Any]:
    made = [
        charts_html.chart_data(_called(one, key, say(name)), say)
        for (key, name), drawn in sides
        for one in drawn
        if one.chart.name in BESIDE and one.missing is None
    ]
    flames = [
        next((one for one in drawn if one.chart.name == FLAME and one.missing is None), None)
        for _, drawn in sides
    ]
    for nth, flame in enumerate(flames):
        if nth and flame is not None and flames[0] is not None:
            two = _together([("before", flames[0]), ("after", flame)], _flame_name(len(sides), nth))
            made.append(charts_html.chart_data(two, say))
    seconds = [*found[0].before.seconds, *(s for one in found for s in one.after.seconds)]
    return {
        "elapsed_s": max(seconds, default=None),
        "classes": [[name, class_marks.LETTERS[name]] for name in classes.ALL],
        "findings": [],
        "charts": made,
    }


def _together(flames: Sequence[tuple[str, Drawn]], name: str) -> Drawn:
    """The time of both runs in one chart; where in the run it was spent is left out."""
    chart = replace(
        flames[0][1].chart, name=name, draws="difference", title="All time of all threads"
    )
    columns = ("side", "thread", "class", "call", "reason", "thread_ns")
    rows: list[tuple[object, ...]] = []
    for side, one in flames:
        at = [one.columns.index(name) for name in columns[1:]]
        rows += [(side, *(row[place] for place in at)) for row in one.rows]
    return Drawn(chart, columns, rows)
