"""Charts in a page: a figure for each, which scripts fill, and their data as columns."""

from collections.abc import Sequence
from typing import Any

from iowhy.charts import NARROWED, Chart, Drawn
from iowhy.commands.overview import Overview
from iowhy.relations.rows import Row
from iowhy.reports import Report
from iowhy.reports.engine import MOST_BESIDE
from iowhy.views import class_marks
from iowhy.views.html.markup import Markup, Say, element, lines
from iowhy.whys import classes

#: Significant digits of what is no whole number: more is below what a chart shows.
_DIGITS = 6
#: Values that come this often each are written once, and the rows hold their places.
_SELDOM = 4
#: Which kinds of charts can stand in place of a table, the best first.
SUMMED = (*NARROWED, "layers", "heat", "places", "stacked", "lines")
NOSCRIPT = Markup(
    "<noscript><p>Charts are drawn by scripts; everything else on this page is readable without them.</p></noscript>"
)


def charts_section(drawn: Sequence[Drawn]) -> Markup:
    """Figures; those that narrow a table to a stretch of time are at that table (narrowing)."""
    shown = [one for one in drawn if one.chart.draws not in NARROWED and one.missing is None]
    if not shown:
        return Markup("")
    return element(
        "section",
        element("h2", "Charts"),
        NOSCRIPT,
        chosen_time(),
        figures(shown),
        id="charts",
    )


def figures(drawn: Sequence[Drawn]) -> Markup:
    """Two next to each other if there is room."""
    return element("div", lines(*map(figure, drawn)), class_="beside") if drawn else Markup("")


def narrowing(drawn: Sequence[Drawn], report: Report) -> Markup:
    """At a report's table: the place where scripts show its rows of a stretch of time, or why they cannot."""
    own = [one for one in drawn if one.chart.report == report.name and "at_s" in one.columns]
    able = [one for one in own if one.missing is None and one.chart.draws in SUMMED]
    if able:
        first = min(able, key=lambda one: SUMMED.index(one.chart.draws))
        return element("div", "", class_="narrowed", data_rows=first.chart.name)
    if report.of_whole_run:
        return of_whole_run(report.of_whole_run)
    if any(one.chart.report == report.name and one.chart.draws in NARROWED for one in drawn):
        return of_whole_run("what it is made of has no times in this recording")
    if "since" in report.filters:
        return of_whole_run("its rows of a stretch are what --since and --until give on a terminal")
    return of_whole_run("its rows have no times")


def of_whole_run(why: str) -> Markup:
    """The words at a table that a stretch of time does not narrow."""
    return element("p", f"Always of the whole run: {why}.", class_="hint whole")


def over_time(report: Report, columns: Sequence[str], rows: Sequence[Row]) -> Drawn | None:
    """A report whose rows have times as what narrows its own table; None for others, and where rows are left out."""
    if "at_s" not in columns or len(rows) >= MOST_BESIDE:
        return None
    chart = Chart(
        f"{report.name}-rows",
        report.title,
        report.question,
        report.name,
        "listed",
        0,
        (),
        report.columns,
        "",
        "",
    )
    return Drawn(chart, columns, rows)


def chosen_time() -> Markup:
    """The stretch of time that all charts show; scripts make it visible."""
    return element(
        "form",
        element("label", "from ", element("input", type="number", id="from", min=0, step="any")),
        element("label", " to ", element("input", type="number", id="to", min=0, step="any"), " s"),
        element("button", "Whole run", type="button", id="whole"),
        element("output", "", id="chosen", aria_live="polite"),
        id="time",
        hidden=True,
        aria_label="Stretch of time that charts and tables show",
    )


def figure(one: Drawn) -> Markup:
    """A chart's place, or why there is none."""
    chart = one.chart
    head = element(
        "figcaption",
        element("h3", chart.title),
        element("p", chart.question, class_="question"),
    )
    if one.missing is not None:
        body = element("p", one.missing, class_="missing")
    else:
        cut = "Only the largest are drawn. " if one.cut else ""
        body = lines(
            element("div", "", class_="drawing", data_chart=chart.name),
            element(
                "p",
                f"{cut}Numbers: ",
                element("code", f"iowhy report {chart.report}"),
                class_="hint",
            ),
        )
    return element("figure", head, body, id=f"chart-{chart.name}", class_=f"chart {chart.draws}")


def page_data(drawn: Sequence[Drawn], overview: Overview, say: Say) -> dict[str, Any]:
    """What scripts need: charts by name, the classes of the budget, the findings with their classes, the phases."""
    elapsed = overview.verdict.elapsed_s
    return {
        "elapsed_s": elapsed,
        "classes": [[name, class_marks.LETTERS[name]] for name in classes.ALL],
        "findings": [
            {"title": one.title, "cause": one.cause, "classes": list(one.classes)}
            for one in overview.verdict.findings
            if not one.healthy
        ],
        "phases": [[one.begin_s, one.end_s, say(one.said)] for one in overview.verdict.phases],
        "charts": [chart_data(one, say) for one in drawn if one.missing is None],
    }


def chart_data(one: Drawn, say: Say) -> dict[str, Any]:
    """A chart's rows by column: what repeats as places in a list, fractions with six digits."""
    units = {column.name: column.unit for column in one.chart.columns}
    columns = list(zip(*one.rows, strict=True)) if one.rows else []
    return {
        "name": one.chart.name,
        "title": one.chart.title,
        "draws": one.chart.draws,
        "rows": len(one.rows),
        "columns": {
            name: _column(values, say) | {"unit": units.get(name, "text")}
            for name, values in zip(one.columns, columns, strict=True)
        },
    }


def _column(values: Row, say: Say) -> dict[str, Any]:
    if len(set(values)) == 1 and len(values) > 1:
        return {"same": _number(values[0]) if not isinstance(values[0], str) else say(values[0])}
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    if any(isinstance(value, str) for value in distinct) or len(distinct) * _SELDOM < len(values):
        places = {value: at for at, value in enumerate(distinct)}
        return {
            "list": [say(one) if isinstance(one, str) else _number(one) for one in distinct],
            "at": [None if value is None else places[value] for value in values],
        }
    return {"values": [_number(value) for value in values]}


def _number(value: object) -> object:
    if isinstance(value, float):
        short = float(f"{value:.{_DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 2**53 else short
    return value
