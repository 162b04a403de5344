"""A report whose rows are buckets, as bars: one histogram below the other."""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.relations.sql_header import Column
from iowhy.views.cells import counted, name_of, number
from iowhy.views.terminal import paragraph

if TYPE_CHECKING:  # slow to import
    from iowhy.reports.drawing import Histogram

WIDEST_BAR = 60
NARROWEST_BAR = 10
UNKNOWN = "not known"
#: Eighths of a cell: a bucket of one in a thousand still shows.
_EIGHTHS = "▏▎▍▌▋▊▉█"
_OF_WHOLE = re.compile(r"(?:p([0-9]+)|max)_")

Row = dict[str, object]


def show(out: Console, shown: Sequence[Row], drawn: "Histogram", columns: Sequence[Column]) -> None:
    """Draws the rows, which are together by what they are of and in the order of their bounds."""
    unit = next((column.unit for column in columns if column.name == drawn.low), "count")
    summed = [column for column in columns if _OF_WHOLE.match(column.name)]

    def of(row: Row) -> tuple[object, ...]:
        return tuple(row[name] for name in drawn.by)

    for key, group in groupby(shown, of):
        rows = list(group)
        out.print()
        _head(out, key, rows, drawn, summed)
        _bars(out, rows, drawn, lambda value: units.amount(number(value), unit))
    out.print()
    paragraph(out, "every column of the rows: --wide, or --format csv", "dim", 2)


def _head(
    out: Console,
    key: tuple[object, ...],
    rows: list[Row],
    drawn: "Histogram",
    summed: Sequence[Column],
) -> None:
    """What it is of, how many there are, and what few exceed."""
    total = sum(number(row[drawn.count]) for row in rows)
    words = [counted(total, drawn.count)]
    for column in summed:
        value = rows[0][column.name]
        if value is not None:
            words.append(f"{_title(column.name)} {units.amount(number(value), column.unit)}")
    line = Text(f"  {name_of(key, out.width)}", "bold")
    rest = ", ".join(words)
    if cell_len(line.plain) + 2 + cell_len(rest) <= out.width:
        out.print(line.append(f"  {rest}", "not bold"), soft_wrap=True)
        return
    out.print(line, soft_wrap=True)
    paragraph(out, rest, indent=4, hang=0)


def _title(column: str) -> str:
    """`p50_ns` is the median, `p999_ns` the 99.9th percentile."""
    found = _OF_WHOLE.match(column)
    assert found is not None
    digits = found[1]
    if digits is None:
        return "max"
    return (
        "median" if digits == "50" else f"p{digits[:2]}" + (f".{digits[2:]}" if digits[2:] else "")
    )


def _bars(
    out: Console, rows: list[Row], drawn: "Histogram", write: Callable[[object], str]
) -> None:
    texts = [_bounds(row, drawn, write) for row in rows]
    counts = [number(row[drawn.count]) for row in rows]
    low = max(cell_len(text[0]) for text in texts)
    high = max(cell_len(text[1]) for text in texts)
    digits = max(len(units.count(count)) for count in counts)
    width = max(NARROWEST_BAR, min(WIDEST_BAR, out.width - (4 + low + 4 + high + 2 + digits + 2)))
    most = max(counts)
    before: object = None
    for row, (first, second), count in zip(rows, texts, counts, strict=True):
        if before is not None and row[drawn.low] is not None and row[drawn.low] != before:
            out.print(" " * (4 + low - 1) + "…", soft_wrap=True)  # buckets that nothing fell into
        before = row[drawn.high]
        joined = " to " if second else "    "
        line = Text(f"    {first:>{low}}{joined}{second:>{high}}  {units.count(count):>{digits}}  ")
        out.print(line.append(bar(count / most if most else 0.0, width), "cyan"), soft_wrap=True)


def _bounds(row: Row, drawn: "Histogram", write: Callable[[object], str]) -> tuple[str, str]:
    if row[drawn.low] is None:
        return UNKNOWN, ""
    return write(row[drawn.low]), "more" if row[drawn.high] is None else write(row[drawn.high])


def bar(share: float, width: int) -> str:
    """A bar of `share` of `width` cells, in eighths of a cell; what is not nothing has at least one."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest - 1] if rest else "")
