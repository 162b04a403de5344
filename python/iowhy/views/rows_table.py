"""A report's result on the terminal: as many columns as fit, numbers in readable units."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.messages import printable
from iowhy.relations.relation import Column
from iowhy.views.terminal import Field, paragraph, rows, shorten

if TYPE_CHECKING:  # slow to import, and not needed to draw
    from iowhy.reports.batches import Rows

UNKNOWN = "–"
TEXT_CELLS = 44  # a path may take this much, so that the numbers beside it stay in sight

# Columns of the tables that are readings of the clock: as durations they would say nothing.
_CLOCK_READINGS = frozenset(
    ("ts_ns", "queue_ns", "issue_ns", "complete_ns", "over_by_ns", "start_ns", "end_ns")
)
_SUFFIXES = {
    "ns": ("_ns",),
    "bytes": ("_bytes",),
    "bytes/s": ("_bytes_per_s",),
    "1/s": ("_per_s",),
    "share": ("_share",),
    "pages": ("_pages",),
    "s": ("_s",),
}


def heading(out: Console, title: str, question: str) -> None:
    """What the rows below are, and what they answer."""
    line = Text(title, style="bold")
    line.append(f"  {question}", style="not bold dim")
    out.print(line, soft_wrap=True)


def show(
    console: Console, shown: "Rows", columns: Sequence[Column], rows_in_all: int, wide: bool
) -> None:
    """Print rows, the first of `rows_in_all`; `wide`: every column, however long the lines.

    Columns are taken from the left while they fit. Those that are unknown in every row are left
    out. What was left out is said below the table.
    """
    if rows_in_all == 0:
        console.print("  nothing recorded that this could show", style="dim")
        return
    known = {column.name: column for column in columns}
    values = [list(column) for column in zip(*shown.values, strict=True)]
    empty = [
        name
        for name, column in zip(shown.column_names, values, strict=True)
        if all(value is None for value in column) and not wide
    ]
    picked: list[int] = []
    left_out: list[str] = []
    fields: list[Field] = []
    used = 0
    for at, name in enumerate(shown.column_names):
        if name in empty:
            continue
        field = field_of(name, known.get(name), values[at])
        width = max([cell_len(field.heading), *(cell_len(field.write(v)) for v in values[at])])
        if field.left and not wide:
            most = max(TEXT_CELLS, console.width // 3, cell_len(field.heading))
            width = min(width, most)
        if not wide and picked and (left_out or used + 2 + width > console.width):
            left_out.append(name)
            continue
        used += 2 + width
        picked.append(at)
        fields.append(field)
    body = zip(*(values[at] for at in picked), strict=True)
    width = used if wide else console.width
    for line in rows(fields, body, width).lines:
        console.print(line, soft_wrap=True)
    _below(console, rows_in_all - shown.num_rows, empty, left_out, values, picked)


def _below(
    console: Console,
    more: int,
    empty: list[str],
    left_out: list[str],
    values: list[list[object]],
    picked: list[int],
) -> None:
    notes = []
    if more:
        notes.append(f"{more:,} more rows: --limit 0 shows all")
    if left_out:
        notes.append(f"more columns (--wide, or --format csv): {', '.join(left_out)}")
    if empty:
        notes.append(f"unknown in this recording: {', '.join(empty)}")
    if any(value is None for at in picked for value in values[at]):
        notes.append(f"{UNKNOWN} unknown, or does not apply")
    for note in notes:
        paragraph(console, note, "dim", 2)


def field_of(name: str, column: Column | None, values: list[object]) -> Field:
    """How a column of a report is shown: by its unit, or by what its name and values say."""
    unit = column.unit if column else _guess(name, values)
    left = unit in ("text", "bool")
    return Field(printable(_heading(name, unit)), _writer(unit, values), left)


def _heading(name: str, unit: str) -> str:
    for suffix in _SUFFIXES.get(unit, ()):
        if name.endswith(suffix):
            name = name.removesuffix(suffix)
            if unit == "1/s":
                name += "/s"
            elif unit == "share":
                name += " %"
            elif unit == "pages":
                name += " pages"
    return name.replace("_", " ")


def _guess(name: str, values: list[object]) -> str:
    """The unit of a column that no header describes: its name, as in the tables."""
    for unit, suffixes in _SUFFIXES.items():
        if name.endswith(suffixes) and unit not in ("s", "pages"):
            numbers = all(isinstance(v, (int, float)) or v is None for v in values)
            return unit if numbers and name not in _CLOCK_READINGS else "id"
    first = next((v for v in values if v is not None), None)
    if isinstance(first, bool) or not isinstance(first, (int, float)):
        return "text"
    return "id" if isinstance(first, int) else "number"


def _writer(unit: str, values: list[object]) -> Callable[[object], str]:
    seconds = 6
    if unit == "s" and all(v is None or abs(_number(v) * 10 % 1) < 1e-9 for v in values):
        seconds = 1

    def write(value: object) -> str:
        if value is None:
            return UNKNOWN
        if unit in ("text", "bool"):
            return shorten(printable(_plain(value)), 200)
        if unit == "id":
            return str(value)
        number = _number(value)
        if not math.isfinite(number):
            return UNKNOWN
        match unit:
            case "ns":
                return units.duration(number)
            case "s":
                return f"{number:.{seconds}f}"
            case "bytes":
                return units.size(number)
            case "bytes/s":
                return units.rate(number)
            case "share":
                return units.percent(number)
            case "ratio":
                return f"{number:,.3g}×" if abs(number) < 1000 else f"{number:,.0f}×"
        if number == int(number):
            return units.count(number)
        return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"

    return write


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
