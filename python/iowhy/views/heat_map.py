"""A report whose rows are buckets in cells of time, as a heat map of characters: time to the right, latency upwards."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.relations.sql_header import Column
from iowhy.views.cells import counted, name_of, number
from iowhy.views.terminal import paragraph

if TYPE_CHECKING:  # slow to import
    from iowhy.reports.drawing import HeatMap

WIDEST = 120
NARROWEST = 10
#: More lines than this are no picture: two buckets go together, then four.
TALLEST = 24
#: From one to as many as the fullest cell has, by their logarithm; what is empty is blank.
SHADES = "·░▒▓█"

Row = dict[str, object]
#: Counts by (lowest bound of a line, cell).
Counts = dict[tuple[float, int], float]


def show(out: Console, shown: Sequence[Row], drawn: "HeatMap", columns: Sequence[Column]) -> None:
    """One map for each of what the rows are of, all on the same axis of time."""
    unit = next((column.unit for column in columns if column.name == drawn.low), "count")
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in shown:
        groups.setdefault(tuple(row[name] for name in drawn.by), []).append(row)
    begin = min(number(row[drawn.over]) for row in shown)
    end = max(number(row[drawn.over]) + number(row["span_s"]) for row in shown)
    span = min(number(row["span_s"]) for row in shown)
    for key, rows in groups.items():
        out.print()
        total = sum(number(row[drawn.count]) for row in rows)
        head = Text(f"  {name_of(key, out.width)}", "bold")
        head.append(f"  {counted(total, drawn.count)}", "not bold")
        out.print(head, soft_wrap=True)
        _map(out, rows, drawn, (begin, end, span), lambda value: units.amount(value, unit))
    out.print()
    paragraph(out, "the numbers: --wide, or --format csv", "dim", 2)


def _map(
    out: Console,
    rows: Sequence[Row],
    drawn: "HeatMap",
    axis: tuple[float, float, float],
    write: Callable[[float], str],
) -> None:
    begin, end, span = axis
    edges = _edges(rows, drawn)
    label = max(cell_len(write(low)) for low in edges)
    cells = max(1, round((end - begin) / span)) if span > 0 else 1
    room = max(NARROWEST, min(WIDEST, out.width - label - 6))
    together = math.ceil(cells / room)
    counts: Counts = {}
    for row in rows:
        line = max(low for low in edges if low <= number(row[drawn.low]))
        cell = round((number(row[drawn.over]) - begin) / span) // together if span > 0 else 0
        counts[line, cell] = counts.get((line, cell), 0.0) + number(row[drawn.count])
    width = math.ceil(cells / together)
    most = max(counts.values())
    for low in reversed(edges):
        marks = "".join(shade(counts.get((low, cell), 0.0), most) for cell in range(width))
        out.print(
            Text(f"    {write(low):>{label}} ").append(f"│{marks.rstrip()}", "cyan"), soft_wrap=True
        )
    left, right = f"{begin:.3g} s", f"{end:.3g} s"
    gap = max(1, width - len(left) - len(right))
    out.print(f"    {'':>{label}} └{left}{' ' * gap}{right}", soft_wrap=True, highlight=False)
    full = f"{SHADES[-1]} {units.count(most)}" if most > 1 else f"{SHADES[-1]} 1"
    least = f"{SHADES[0]} 1, " if most > 1 else ""
    say = f"{least}{full} in a cell of {units.duration(span * together * 1e9)}"
    paragraph(out, say, "dim", 4 + label + 2)


def _edges(rows: Sequence[Row], drawn: "HeatMap") -> list[float]:
    """The lowest bounds of the lines, without a gap: buckets that nothing fell into are blank lines."""
    known = {number(row[drawn.low]): number(row[drawn.high]) for row in rows}
    low, last = min(known), max(known)
    edges = [low]
    while low < last:
        # Two buckets to a power of two: the upper one begins at one and a half of it.
        power = 2.0 ** math.floor(math.log2(max(low, 1.0)))
        low = known.get(low, power * 1.5 if low == power and power > 1 else power * 2)
        edges.append(low)
    return edges[:: math.ceil(len(edges) / TALLEST)]


def shade(count: float, most: float) -> str:
    """The character of a cell: what is not nothing is seen."""
    if count <= 0:
        return " "
    if most <= 1:
        return SHADES[-1]
    return SHADES[min(len(SHADES) - 1, int(math.log(count) / math.log(most) * len(SHADES)))]
