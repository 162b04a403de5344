"""The page of a comparison: the difference, where it is, what became of the findings, both runs side by side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from iowhy.charts import Drawn
from iowhy.compare.comparison import Comparison
from iowhy.views import class_marks, comparison_page
from iowhy.views.html import charts_html
from iowhy.views.html.budget_html import budget_svg
from iowhy.views.html.markup import Markup, Say, element, lines
from iowhy.views.html.tables_html import table
from iowhy.views.html.whole_page import whole_page
from iowhy.views.terminal import Field
from iowhy.whys import classes

#: Charts that both runs have side by side, on one scale of time.
BESIDE = (
    "budget-over-time",
    "request-latency-over-time",
    "call-latency-over-time",
    "addresses-over-time",
)
FLAME = "time-of-threads"


def comparison_html(
    found: Comparison,
    before: Sequence[Drawn],
    after: Sequence[Drawn],
    say: Say = lambda text: text,
    *,
    redacted: bool = False,
) -> str:
    """The whole file; `before` and `after` are the charts of the typical recordings."""
    sure = comparison_page.evidence(found.time, len(found.before.seconds), len(found.after.seconds))
    hint = "Paths, arguments, host and user names were replaced by tokens." if redacted else ""
    body = [
        element(
            "header",
            element("p", element("b", "iowhy compare"), class_="name"),
            element("h1", say(comparison_page.headline(found)), id="answer", tabindex=-1),
            lines(*(element("p", text, class_="hint") for text in [*sure, hint] if text)),
        ),
        Markup("<main>"),
        _difference(found),
        _findings(found, say),
        _layers(found, say),
        _latencies(found, say),
        _paths(found, say),
        _charts(before, after),
        Markup("</main>"),
    ]
    title = f"{say(found.after.label)} against {say(found.before.label)}"
    return whole_page(title, body, _data(found, before, after, say))


def _difference(found: Comparison) -> Markup:
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
            element("p", f"{side}: {sum(seconds for _, seconds in parts):.3g} s", class_="hint"),
            budget_svg(sorted(parts, key=lambda one: order[one[0]]), whole),
        )
        for side, parts in sides
    ]
    heads = comparison_page.PART_HEADS
    fields = [Field(name, str, left=at == 0) for at, name in enumerate(heads)]
    return element(
        "section",
        element("h2", "Where the difference is"),
        lines(*bars),
        table(fields, comparison_page.part_rows(found), caption="Elapsed time by class"),
        id="difference",
    )


def _findings(found: Comparison, say: Say) -> Markup:
    if not found.fates:
        return Markup("")
    items = (element("li", say(comparison_page.fate_text(one))) for one in found.fates)
    return element(
        "section",
        element("h2", "What became of the findings"),
        element("ul", *items),
        id="findings",
    )


def _layers(found: Comparison, say: Say) -> Markup:
    if not found.changed:
        return Markup("")
    heads = comparison_page.LAYER_HEADS
    fields = [Field(name, str, left=at == 0) for at, name in enumerate(heads)]
    rows = [[say(str(cell)) for cell in row] for row in comparison_page.layer_rows(found)]
    return element(
        "section", element("h2", "What changed at each layer"), table(fields, rows), id="layers"
    )


def _latencies(found: Comparison, say: Say) -> Markup:
    """Percentiles of requests and of calls, each as before → after."""
    made = []
    for what, side in (("requests", found.latencies), ("calls", found.call_latencies)):
        if side:
            heads = (what, *comparison_page.LATENCY_HEADS[1:])
            fields = [Field(name, str, left=at == 0) for at, name in enumerate(heads)]
            rows = [[say(str(cell)) for cell in row] for row in comparison_page.latency_rows(side)]
            made.append(table(fields, rows, caption=f"How long {what} took, before → after"))
    if not made:
        return Markup("")
    return element(
        "section", element("h2", "How long requests and calls took"), *made, id="latencies"
    )


def _paths(found: Comparison, say: Say) -> Markup:
    if not found.paths:
        return Markup("")
    heads = comparison_page.PATH_HEADS
    fields = [Field(name, str, left=at == 0) for at, name in enumerate(heads)]
    rows = [[say(str(cell)) for cell in row] for row in comparison_page.path_rows(found)]
    return element(
        "section",
        element("h2", "Whose code takes more or less time"),
        table(fields, rows, caption="Time of all threads"),
        id="paths",
    )


def _charts(before: Sequence[Drawn], after: Sequence[Drawn]) -> Markup:
    pairs = [
        element(
            "div",
            charts_html.figure(_called(first, "before")),
            charts_html.figure(_called(second, "after")),
            class_="beside",
        )
        for first, second in zip(before, after, strict=True)
        if first.chart.name in BESIDE
    ]
    flames = [one for one in (*before, *after) if one.chart.name == FLAME]
    drawn = all(one.missing is None for one in flames)
    flame = element(
        "figure",
        element(
            "figcaption",
            element("h3", "All time of all threads, before and after"),
            element(
                "p",
                "Which threads, calls and waits take longer, and which less?",
                class_="question",
            ),
        ),
        element("div", "", class_="drawing", data_chart="difference")
        if drawn
        else element("p", flames[0].missing or flames[-1].missing or "", class_="missing"),
        id="chart-difference",
        class_="chart difference",
    )
    return element(
        "section",
        element("h2", "Side by side"),
        charts_html.NOSCRIPT,
        charts_html.chosen_time(),
        flame,
        lines(*pairs),
        id="charts",
    )


def _called(one: Drawn, side: str) -> Drawn:
    """The chart under a name of its side."""
    chart = replace(one.chart, name=f"{side}-{one.chart.name}", title=f"{one.chart.title}: {side}")
    return replace(one, chart=chart)


def _data(
    found: Comparison, before: Sequence[Drawn], after: Sequence[Drawn], say: Say
) -> dict[str, Any]:
    made = []
    for side, drawn in (("before", before), ("after", after)):
        made += [
            charts_html.chart_data(_called(one, side), say)
            for one in drawn
            if one.chart.name in BESIDE and one.missing is None
        ]
    flames = [
        (side, one)
        for side, drawn in (("before", before), ("after", after))
        for one in drawn
        if one.chart.name == FLAME and one.missing is None
    ]
    if len(flames) == 2:
        made.append(charts_html.chart_data(_together(flames), say))
    seconds = [*found.before.seconds, *found.after.seconds]
    return {
        "elapsed_s": max(seconds, default=None),
        "classes": [[name, class_marks.LETTERS[name]] for name in classes.ALL],
        "findings": [],
        "charts": made,
    }


def _together(flames: Sequence[tuple[str, Drawn]]) -> Drawn:
    """The time of both runs in one chart; where in the run it was spent is left out."""
    chart = replace(
        flames[0][1].chart, name="difference", draws="difference", title="All time of all threads"
    )
    columns = ("side", "thread", "class", "call", "reason", "thread_ns")
    rows: list[tuple[object, ...]] = []
    for side, one in flames:
        at = [one.columns.index(name) for name in columns[1:]]
        rows += [(side, *(row[place] for place in at)) for row in one.rows]
    return Drawn(chart, columns, rows)
