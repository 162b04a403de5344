"""The time budget: its table, and the bar with its legend at the top of the page, drawn without scripts."""

from collections.abc import Sequence

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.views import budget_bar, class_marks
from iowhy.views.cells import number_or_none
from iowhy.views.html.markup import Markup, element, lines
from iowhy.views.html.tables_html import table
from iowhy.views.terminal import Field
from iowhy.whys import classes

_HEIGHT = 36
#: Parts of the bar below this share have no room for their letter.
_LETTER = 0.03
#: Parts below this share are not in the legend.
_NAMED = 0.01


def budget_section(overview: Overview, narrowed: Markup) -> Markup:
    """Nothing where the time is not known; `narrowed` is where scripts show the classes of a stretch of time."""
    budget = overview.verdict.budget
    shown = [line for line in budget.lines if line.elapsed_share >= 0.0005 or line.thread_ns]
    if not budget.known or not shown:
        return Markup("")
    about = ", ".join(budget_bar.about(overview))
    ordered = sorted(shown, key=lambda line: -line.elapsed_share)
    columns: list[tuple[Field, list[object]]] = [
        (Field("class", str, left=True), [one.cls for one in ordered]),
        (Field("of the elapsed time", _percent), [one.elapsed_share for one in ordered]),
        (Field("elapsed", _duration), [one.elapsed_ns for one in ordered]),
        (Field("time of all threads", _duration), [one.thread_ns for one in ordered]),
    ]
    kept = [one for one in columns if any(value is not None for value in one[1])]
    fields = [field for field, _ in kept]
    rows = list(zip(*(values for _, values in kept), strict=True))
    return element(
        "section",
        element("h2", "Where the time went"),
        element("p", about, class_="hint") if about else "",
        table(fields, rows, caption="Time budget"),
        narrowed,
        id="report-budget",
    )


def _percent(value: object) -> str:
    return units.percent(number_or_none(value))


def _duration(value: object) -> str:
    return units.duration(number_or_none(value))


def budget_svg(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
    """The bar of (class, amount), as wide as its amounts are of `whole`."""
    drawn, at = [], 0.0
    for name, amount in parts:
        width = amount / whole
        if width <= 0:
            continue
        shape = f'<rect class="{_style(name)}" x="{at:.3%}" y="0" width="{width:.3%}" height="{_HEIGHT}"/>'
        inner = [Markup(shape), element("title", f"{name} {units.percent(width)}")]
        if width >= _LETTER:
            letter = class_marks.LETTERS[name]
            middle = f"{at + width / 2:.3%}"
            inner.append(element("text", letter, x=middle, y=_HEIGHT // 2 + 5, class_="letter"))
        drawn.append(element("g", *inner))
        at += width
    words = ", ".join(f"{name} {units.percent(amount / whole)}" for name, amount in parts)
    return element(
        "svg",
        lines(*drawn),
        width="100%",
        height=_HEIGHT,
        class_="budget",
        role="img",
        aria_label=f"Time budget: {words}",
    )


def legend(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
    """What the colours of a bar are, the largest first; a sliver is in the table alone."""
    return element(
        "ul",
        *(
            element(
                "li",
                element("span", class_marks.LETTERS[name], class_=f"key {_style(name)}"),
                f" {name} {units.percent(amount / whole)}",
            )
            for name, amount in sorted(parts, key=lambda one: -one[1])
            if amount >= _NAMED * whole
        ),
        class_="legend",
    )


def _style(name: str) -> str:
    return f"class-{classes.ALL.index(name)}"
