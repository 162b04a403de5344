"""A chart: an SQL file whose header says what it answers, which report has its rows, and how it is drawn."""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.recordings.schema import tables
from iowhy.relations.sql_header import Column, parse_headed

#: What stands in place of a report's table while a stretch of time is chosen: sums by the key of its rows, or rows as they are.
NARROWED = ("narrowed", "listed")
#: The ways in which a chart is drawn.
KINDS = ("stacked", "heat", "places", "lines", "flame", "waterfall", "layers", *NARROWED)

#: The lines of a header that must be there, and those that may.
_FIELDS = ("title", "question", "report", "draws", "place")
_MORE = ("needs", "heaviest")
#: Amounts are what is no text and no id; the ends of a bucket are none, whatever their unit.
_KEY_UNITS = ("text", "id", "bool")
_KEY = re.compile(r"(low|high)_")
_CELL_NUMBER = "greatest(least((e.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0)"
#: Columns of a chart whose rows are told apart by cells of time.
_CELL = (Column("at_s", "begin of the cell", "s"), Column("span_s", "its length", "s"))


class Chart(Struct, frozen=True):
    """One chart. `needs` are tables of which one must have rows, `notes` the comment lines after the header."""

    name: str
    title: str
    question: str
    report: str
    draws: str
    place: int
    needs: tuple[str, ...]
    columns: tuple[Column, ...]
    notes: str
    sql: str


def parse(name: str, text: str) -> Chart:
    """The chart in `text`. Raises Problem with the line that is wrong, or what is missing."""
    headed = parse_headed(text, f"{name}.sql", (*_FIELDS, *_MORE), _FIELDS)
    fields = headed.fields
    if fields["draws"] not in KINDS:
        raise Problem(
            "sql-drawing-unknown", name=name, fields=fields["draws"], kinds=", ".join(KINDS)
        )
    if not fields["place"].isdecimal():
        raise Problem("sql-place-not-number", name=name, fields=fields["place"])
    columns, sql = tuple(headed.columns), headed.sql
    if fields["draws"] == "narrowed":
        columns, sql = (*_CELL, *columns), _summed(sql, columns, fields.get("heaviest", ""))
    elif fields["draws"] == "heat" and columns:
        columns, sql = (*_CELL, *columns), _in_grid(sql, columns[-1].name)
    return Chart(
        name=name,
        title=fields["title"],
        question=fields["question"],
        report=fields["report"],
        draws=fields["draws"],
        place=int(fields["place"]),
        needs=_tables(fields.get("needs", ""), name),
        columns=columns,
        notes=headed.notes,
        sql=sql,
    )


def is_key(column: Column) -> bool:
    """Whether it keeps the rows of a narrowed chart apart; the others are amounts, `max_…` the largest, `min_…` the least."""
    return column.unit in _KEY_UNITS or bool(_KEY.match(column.name))


def _summed(sql: str, columns: Sequence[Column], heaviest: str) -> str:
    """Events, each with its `ts_ns`, keys and amounts, as sums by cell and key; of so many keys, by what is heaviest."""
    keys = [one.name for one in sorted(columns, key=lambda one: one.unit != "id") if is_key(one)]
    amounts = [
        f"{one.name[:3]}({one.name})" if one.name.startswith(("max_", "min_"))
        else f'CAST(sum("{one.name}") AS BIGINT)'
        for one in columns
    ]  # fmt: skip
    shown = [
        f"e.{one.name}" if is_key(one) else f'{amount} AS "{one.name}"'
        for one, amount in zip(columns, amounts, strict=True)
    ]
    most, _, by = heaviest.partition(" by ")
    chosen, join = "", ""
    if heaviest:
        named = ", ".join(keys)
        chosen = f", heaviest AS (SELECT {named} FROM happening GROUP BY {named} ORDER BY {by}, {named} LIMIT {most})"
        same = " AND ".join(f"h.{key} IS NOT DISTINCT FROM e.{key}" for key in keys)
        join = f"SEMI JOIN heaviest h ON {same}"
    by_key = ", ".join(f"e.{key}" for key in keys)
    return f"""WITH happening AS ({sql}){chosen}
SELECT {_CELL_NUMBER} * max(c.cell_ns) / 1e9 AS at_s, max(c.cell_ns) / 1e9 AS span_s, {", ".join(shown)}
FROM happening e
CROSS JOIN chart_cells c
{join}
GROUP BY {_CELL_NUMBER}, {by_key}
ORDER BY {by_key}, at_s"""


def _in_grid(sql: str, amount: str) -> str:
    """Amounts by cell, group and bucket; what is everywhere is drawn in longer cells, two or four of them together."""
    return f"""WITH counted AS MATERIALIZED ({sql}), grid AS (
    SELECT CASE WHEN count(*) <= 9000 THEN 1
        WHEN count(DISTINCT (cell // 2, "group", low_ns)) <= 9000 THEN 2 ELSE 4 END AS together
    FROM counted
)
SELECT n.cell // g.together * g.together * max(c.cell_ns) / 1e9 AS at_s, g.together * max(c.cell_ns) / 1e9 AS span_s,
    n."group", n.low_ns, n.high_ns, CAST(sum(n.{amount}) AS BIGINT) AS {amount}
FROM counted n CROSS JOIN grid g CROSS JOIN chart_cells c
GROUP BY n.cell // g.together, g.together, n."group", n.low_ns, n.high_ns
ORDER BY {amount} DESC, n."group", at_s, n.low_ns"""


@cache
def charts() -> Sequence[Chart]:
    """All charts in the order of the page."""
    files = files_by_name("iowhy.charts", ".sql")
    found = [parse(name, file.read_text("utf-8")) for name, file in files.items()]
    return tuple(sorted(found, key=lambda one: (one.place, one.name)))


def _tables(text: str, name: str) -> tuple[str, ...]:
    named = tuple(word.strip() for word in text.split(" or ") if word.strip())
    for one in named:
        if one not in tables():
            raise Problem("sql-needs-unknown", name=name, one=one)
    return named
