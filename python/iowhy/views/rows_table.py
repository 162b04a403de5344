"""A report's result on the terminal: as many columns as fit, numbers in readable units."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.messages import printable
from iowhy.relations.sql_header import UNIT, Column
from iowhy.views.terminal import UNKNOWN, Field, paragraph, rows, shorten

if TYPE_CHECKING:  # slow to import, and not needed to draw
    from iowhy.reports.batches import Rows

#: What a text, or a path of functions, of a column that the report is about is cut to at most.
LEAST, PATH_LEAST = 12, 30
#: Between functions of a path: there it goes on in the next line, so that none is cut.
CALLED_BY = " ← "
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
    console: Console,
    shown: "Rows",
    columns: Sequence[Column],
    rows_in_all: int,
    wide: bool,
    about: Sequence[str] = (),
) -> None:
    """Print rows, the first of `rows_in_all`; `wide`: every column, however long the lines.

    Those that the report is `about` come first, and texts are cut to show them; of others those are shown that still fit.
    Columns that are unknown, or the same in every row, are left out. What was left out is said below the table.
    """
    if rows_in_all == 0:
        console.print("  nothing recorded that this could show", style="dim")
        return
    known = {column.name: column for column in columns}
    values = dict(zip(shown.column_names, map(list, zip(*shown.values, strict=True)), strict=True))
    for column in columns:
        if column.unit == "unit of row" and column.name in values:
            pairs = zip(values[column.name], values[UNIT], strict=True)
            values[column.name] = [_writer(str(unit), [one])(one) for one, unit in pairs]
    first = [name for name in about if name in values]
    names = first + [name for name in values if name not in about]
    fields = _apart(
        {name: _field(name, known.get(name), values[name], name in first) for name in names}
    )
    if wide:
        _print(console, [fields[name] for name in names], [values[name] for name in names], None)
        return
    empty = [name for name in names if all(value is None for value in values[name])]
    equal = [name for name in names[1:] if name not in empty and _equal(values[name])]
    worth = [name for name in names if name not in (*empty, *equal)] or names[:1]
    picked = _picked(fields, values, worth, len([n for n in worth if n in first]), console.width)
    _print(console, list(picked.values()), [values[name] for name in picked], console.width)
    notes = _notes(
        [
            (fields[name].heading, fields[name].write(values[name][0]))
            for name in equal
            if values[name][0] != ""
        ],
        rows_in_all - shown.num_rows,
    )
    left_out = [name for name in worth if name not in picked]
    if left_out:
        notes.append(f"more columns (--wide, or --format csv): {', '.join(left_out)}")
    if empty:
        notes.append(f"unknown in this recording: {', '.join(empty)}")
    if any(value is None for name in picked for value in values[name]):
        notes.append(f"{UNKNOWN} unknown, or does not apply")
    for note in notes:
        paragraph(console, note, "dim", 2)


def _field(name: str, column: Column | None, values: list[object], about: bool) -> Field:
    """As `field_of`; of a path of functions that a report is about none is cut."""
    field = field_of(name, column, values)
    if not about:
        return field
    path = any(CALLED_BY in str(value) for value in values)
    return replace(field, breaks=CALLED_BY if path else "", least=PATH_LEAST if path else LEAST)


def _apart(fields: dict[str, Field]) -> dict[str, Field]:
    """Of a time and bytes of one name, each with its unit in its heading."""
    headings = [field.heading for field in fields.values()]
    ends = {"_ns": " time", "_bytes": " bytes", "_bytes_per_s": " bytes", "_pages": " pages"}
    for name, field in fields.items():
        if headings.count(field.heading) > 1:
            unit = next((word for end, word in ends.items() if name.endswith(end)), "")
            fields[name] = replace(field, heading=field.heading + unit)
    return fields


def _print(
    console: Console, fields: list[Field], values: list[list[object]], width: int | None
) -> None:
    room = sys.maxsize if width is None else width
    for line in rows(fields, zip(*values, strict=True), room).lines:
        console.print(line, soft_wrap=True)


def _equal(values: Sequence[object]) -> bool:
    return len(values) > 1 and values[0] is not None and all(one == values[0] for one in values)


def _picked(
    fields: Mapping[str, Field],
    values: Mapping[str, list[object]],
    names: Sequence[str],
    about: int,
    room: int,
) -> dict[str, Field]:
    """Which columns are shown, the first `about` of them before all others, with headings in two lines where that takes less.

    Texts of the first are cut for each other, and not for the others.
    """
    for narrow in (False, True):
        picked: dict[str, Field] = {}
        used = wanted = 0
        for at, name in enumerate(names):
            field = fields[name]
            widest = max(cell_len(field.write(value)) for value in values[name])
            wide = min(widest, max(TEXT_CELLS, room // 3)) if field.left else widest
            least = min(widest, field.least) if field.left and at < about else wide
            heading = _in_two_lines(field.heading, least) if narrow else field.heading
            takes = max(map(cell_len, heading.split("\n")))
            used += 2 + max(least, takes)
            wanted += 2 + max(wide, takes)
            if picked and (used if at < about else wanted) > room:
                break
            picked[name] = replace(field, heading=heading)
        if len(picked) == len(names):
            break
    return picked


def _in_two_lines(heading: str, width: int) -> str:
    """A heading wider than the column below it, broken where that makes it narrowest."""
    words = heading.split(" ")
    if cell_len(heading) <= width or len(words) == 1:
        return heading
    ways = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return "\n".join(min(ways, key=lambda way: max(map(cell_len, way))))


def _notes(equal: Sequence[tuple[str, str]], more: int) -> list[str]:
    """How many rows are not shown, and what the columns say that are the same in all that are."""
    notes = [f"{more:,} more rows: --limit 0 shows all"] if more else []
    where = "in each of these rows" if more else "in every row"
    zero = [heading for heading, value in equal if value.split(" ")[0] == "0"]
    other = [f"{heading} {value}" for heading, value in equal if heading not in zero]
    if other:
        notes.append(f"{where}: {', '.join(other)}")
    if zero:
        notes.append(f"0 {where}: {', '.join(zero)}")
    return notes


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
            text = printable(_plain(value))
            return text if CALLED_BY in text else shorten(text, 200)
        if unit == "id":
            return str(value)
        if isinstance(value, str):  # in the unit of its row
            return value
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
