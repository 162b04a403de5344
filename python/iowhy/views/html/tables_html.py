"""Rows as HTML tables: numbers in readable units, the same words as on a terminal."""

from collections.abc import Mapping, Sequence

from iowhy.relations.sql_header import Column
from iowhy.reports import Report
from iowhy.reports.engine import MOST_BESIDE
from iowhy.views.html.markup import Markup, Say, element, lines
from iowhy.views.rows_table import field_of
from iowhy.views.terminal import Field

#: Rows of a report that a page shows: it has the heaviest first.
SHOWN = 20
#: Characters of a text from which on it gets a wide column.
_LONG = 20


def report_table(
    report: Report,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    say: Say,
    place: str,
    narrowed: Markup,
) -> Markup:
    """The first rows of a report, folded; `report-NAME` is its anchor.

    `place` is the recording, as typed; `narrowed` is where scripts show the rows of a stretch of time.
    """
    known = {column.name: column for column in report.columns}
    head = element(
        "summary",
        element("h3", report.title),
        " ",
        element("span", report.question, class_="question"),
    )
    command = element("p", element("code", f"iowhy report {report.name} {place}"), class_="hint")
    first = [{name: _said(value, say) for name, value in row.items()} for row in rows[:SHOWN]]
    kept = [name for name in columns if any(row[name] is not None for row in first)]
    fields = [field_of(name, known.get(name), [row[name] for row in first]) for name in kept]
    meanings = [_meaning(known.get(name)) for name in kept]
    values = [[row[name] for name in kept] for row in first]
    left = f"{len(values)} rows of {len(rows):,}{' or more' if len(rows) >= MOST_BESIDE else ''}."
    below = element("p", left, class_="hint") if len(rows) > len(values) else ""
    body = lines(table(fields, values, meanings), below, command, narrowed)
    # The anchor is inside, so that a link to it opens the table.
    section = element("section", body, id=f"report-{report.name}", class_="report")
    return element("details", head, section, class_="folded")


def table(
    fields: Sequence[Field],
    rows: Sequence[Sequence[object]],
    meanings: Sequence[str | None] = (),
    caption: str | None = None,
) -> Markup:
    """A table that scrolls alone where the page is narrow."""
    told = list(meanings) or [None] * len(fields)
    heads = [
        element("th", one.heading, scope="col", class_=None if one.left else "number", title=about)
        for one, about in zip(fields, told, strict=True)
    ]
    body = [
        element("tr", *(_cell(one, value) for one, value in zip(fields, row, strict=True)))
        for row in rows
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", caption) if caption else "",
            element("thead", element("tr", *heads)),
            element("tbody", lines(*body)),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption or (fields[0].heading if fields else "table"),
    )


def _cell(one: Field, value: object) -> Markup:
    text = one.write(value)
    kind = "number" if not one.left else "long" if len(text) > _LONG else None
    return element("td", text, class_=kind)


def _said(value: object, say: Say) -> object:
    """A value whose names are as the page shows them, before anything of it is cut."""
    return say(value) if isinstance(value, str) else value


def _meaning(column: Column | None) -> str | None:
    return column.meaning if column else None
