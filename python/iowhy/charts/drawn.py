"""What charts draw of one recording: rows that SQL has aggregated, or why there are none."""

import operator
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from iowhy.charts.chart import NARROWED, Chart, charts, is_key
from iowhy.errors import Problem
from iowhy.recordings.query_errors import is_out_of_memory, is_query_error
from iowhy.relations import Relations
from iowhy.relations.rows import Row
from iowhy.tables import sensors as known_sensors

#: A chart has no more rows than this: it says that it shows the first ones only. Each is some 12 bytes of the page.
MOST_ROWS = 16_000
#: What narrows a table has no more rows than this: a page may have a dozen of them. Where there are more, cells are longer.
MOST_NARROWED = 3_000
_MOST_READ = 100_000
#: Sensors that run where they are asked for, and how.
_ASKED_BY = {"user_stacks": "iowhy run --stacks"}


class Drawn(Struct, frozen=True):
    """The rows of a chart, or `missing`: why it has none, in a sentence. `cut`: there were more than MOST_ROWS."""

    chart: Chart
    columns: Sequence[str] = ()
    rows: Sequence[Row] = ()
    missing: str | None = None
    cut: bool = False


def drawn_charts(relations: Relations, reports: Collection[str] = ()) -> list[Drawn]:
    """All charts of a recording, and of `reports`, the tables that a page has, what narrows them to a stretch of time.

    What cannot be read costs its chart. Raises where memory does not suffice.
    """
    asked = [one for one in charts() if one.draws not in NARROWED or one.report in reports]
    return [drawn(relations, chart) for chart in asked]


def drawn(relations: Relations, chart: Chart) -> Drawn:
    """One chart of a recording, or why there is nothing to draw. Raises where memory does not suffice."""
    if chart.needs and not any(relations.has(name) for name in chart.needs):
        return Drawn(chart, missing=_why_missing(relations, chart))
    narrows = chart.draws == "narrowed"
    most = _MOST_READ if narrows else MOST_ROWS
    try:
        columns, rows = relations.table(f"SELECT * FROM ({chart.sql}) AS c LIMIT {most + 1}")
    except Exception as error:
        known = isinstance(error, Problem) or is_query_error(error)
        if not known or is_out_of_memory(error):
            raise
        first = str(error).splitlines()[0]
        return Drawn(chart, missing=f"Not drawn: the recording's rows cannot be read ({first}).")
    if not rows:
        return Drawn(
            chart, columns, missing="Not drawn: the recording holds nothing that it could show."
        )
    kept = rows[:most]
    if narrows:
        kept = _in_longer_cells(chart, kept)
    return Drawn(chart, columns, kept, cut=len(rows) > most)


def _in_longer_cells(chart: Chart, rows: Sequence[Row]) -> list[Row]:
    """The same sums, of two cells at a time until there are few enough of them."""
    cell_s = float(str(rows[0][1]))
    together, kept = 1, list(rows)
    while len(kept) > MOST_NARROWED and any(row[0] for row in kept):
        together *= 2
        summed: dict[Row, Row] = {}
        for row in kept:
            # A whole number of cells: a quotient of floats may be short of one.
            at_s = round(float(str(row[0])) / cell_s) // together * together * cell_s
            key = (at_s, *(row[at] for at in _places(chart, keys=True)))
            before = summed.get(key)
            merged = row if before is None else _added(chart, before, row)
            summed[key] = (at_s, together * cell_s, *merged[2:])
        kept = list(summed.values())
    return kept


def _places(chart: Chart, *, keys: bool) -> list[int]:
    """Which columns of a narrowed chart are the key of a row, or its amounts."""
    return [at for at, one in enumerate(chart.columns) if at > 1 and keys == is_key(one)]


def _added(chart: Chart, one: Row, other: Row) -> Row:
    made: list[Any] = list(one)
    for at in _places(chart, keys=False):
        a, b, name = one[at], other[at], chart.columns[at].name
        if a is None or b is None:
            made[at] = b if a is None else a
        else:
            join = (
                max if name.startswith("max_") else min if name.startswith("min_") else operator.add
            )
            made[at] = join(a, b)
    return tuple(made)


def without_functions(one: Drawn) -> Drawn:
    """A chart for others' eyes: names of functions reveal what a program is."""
    if one.chart.report != "callers" or one.missing is not None:
        return one
    return Drawn(one.chart, missing="Not drawn: names of functions are left out.")


def _why_missing(relations: Relations, chart: Chart) -> str:
    """Whether a sensor did not run, or saw nothing: these are two things."""
    manifest = relations.recording.manifest
    sensors = {one.name: one for one in manifest.sensors}
    named = " or ".join(chart.needs)
    by_name = known_sensors().items()
    filling = [(name, by) for name in chart.needs for by, one in by_name if name in one.tables]
    for _, by in filling:
        if by in sensors and sensors[by].ran:
            return f"Not drawn: the recording has no rows of {named}, though its sensor ran."
    for name, by in filling:
        if by in sensors and sensors[by].why:
            return f"Not drawn: {name} were not recorded: {sensors[by].why}."
    if manifest.source == "live":
        for name, by in filling:
            if by in _ASKED_BY:
                return f"Not drawn: {name} were not asked for ({_ASKED_BY[by]} records them)."
    return f"Not drawn: this recording does not say (no {named})."
