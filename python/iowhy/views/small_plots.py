"""Below a report over time: each of its columns as a plot of a line, so that a spike is seen before a row is read."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from iowhy.messages import printable
from iowhy.relations.sql_header import Column
from iowhy.views.cells import number
from iowhy.views.rows_table import field_of
from iowhy.views.terminal import Field, paragraph, shorten

if TYPE_CHECKING:  # slow to import
    from iowhy.reports.drawing import SmallPlots

#: Cells of one plot: of more times the largest of each stretch is drawn, so that no spike goes.
WIDEST = 24
#: Of more intervals than these the gaps are not drawn.
_MOST_STEPS = 100_000
#: What is zero has a mark of its own, and what is unknown none.
ZERO = "_"
_EIGHTHS = "▁▂▃▄▅▆▇█"

Row = dict[str, object]


def show(
    out: Console, shown: Sequence[Row], plots: "SmallPlots", columns: Sequence[Column]
) -> None:
    """A paragraph for each device, or one; nothing if there is but one time."""
    times = _without_gaps(sorted({number(row[plots.over]) for row in shown}))
    if len(times) < 2:
        return
    known = {column.name: column for column in columns}
    fields = {
        name: field_of(name, known.get(name), [row[name] for row in shown])
        for name in plots.columns
    }
    out.print()
    say = f"from {times[0]:g} s to {times[-1]:g} s, each up to its largest value ({ZERO} zero, blank: no row):"
    paragraph(out, say, "dim", 2)
    groups: dict[object, list[Row]] = {}
    for row in shown:
        groups.setdefault(row[plots.by] if plots.by else None, []).append(row)
    for key, rows in groups.items():
        pieces = [
            piece
            for name, field in fields.items()
            if (piece := _piece(field, [(row[plots.over], row[name]) for row in rows], times))
        ]
        if key is not None and pieces:
            out.print(
                Text(f"  {shorten(printable(str(key)), out.width // 2)}", "bold"), soft_wrap=True
            )
        _pieces(out, pieces)


def _without_gaps(times: list[float]) -> list[float]:
    """The same with those between them, a least step apart: intervals of which no row is left take their place too."""
    steps = [after - before for before, after in pairwise(times)]
    step = min(steps, default=0.0)
    if step <= 0 or (times[-1] - times[0]) / step > _MOST_STEPS:
        return times
    found = times[:1]
    for before, after in pairwise(times):
        between = round((after - before) / step) - 1
        found += [before + step * nth for nth in range(1, between + 1)]
        found.append(after)
    return found


def _pieces(out: Console, pieces: Sequence[str]) -> None:
    """As many side by side as fit."""
    line = ""
    for piece in pieces:
        if line and cell_len(line) + 3 + cell_len(piece) > out.width:
            out.print(line, soft_wrap=True, markup=False, highlight=False)
            line = ""
        line += ("   " if line else "    ") + piece
    if line:
        out.print(line, soft_wrap=True, markup=False, highlight=False)


def _piece(field: Field, points: Sequence[tuple[object, object]], times: Sequence[float]) -> str:
    """One plot with its name and its largest value; empty where nothing is known."""
    values = {number(at): number(value) for at, value in points if value is not None}
    if not values:
        return ""
    most = max(values.values())
    return f"{field.heading.strip()} {plot(values, times)} {_largest(field.write, points, most).strip()}"


def _largest(
    write: Callable[[object], str], points: Sequence[tuple[object, object]], most: float
) -> str:
    """As the table writes it, which has whole numbers without a point."""
    return write(next(value for _, value in points if value is not None and number(value) == most))


def plot(values: dict[float, float], times: Sequence[float]) -> str:
    """Values over these times, in WIDEST cells at most: the largest of each stretch, a blank if none is known."""
    cells = min(WIDEST, len(times))
    most = max(values.values(), default=0.0)
    drawn = ""
    for cell in range(cells):
        part = times[cell * len(times) // cells : (cell + 1) * len(times) // cells]
        known = [values[at] for at in part if at in values]
        drawn += _mark(max(known), most) if known else " "
    return drawn


def _mark(value: float, most: float) -> str:
    if value <= 0 or most <= 0:
        return ZERO
    return _EIGHTHS[min(7, int(value / most * 8))]
