"""The terminal: one console, tables as wide as it is, sentences to 100 columns, plain text in a pipe."""

import os
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TextIO, cast

from msgspec import Struct

from iowhy.messages import printable
from iowhy.views.styled import Lines, Text, cell_len, set_cell_size

if TYPE_CHECKING:  # slow to import
    from rich.console import Console

WIDTH = 100  # of sentences, and of a pipe that does not say how wide it is
WIDEST = 200  # of a table: beyond that the eye loses the line
NARROWEST = 60  # a pipe is never narrower: the tables need it
LABEL = 9  # cells of what stands before a labelled text
UNKNOWN = "–"
TEXT_LEAST = 16  # cells of a text that still tell something


_COMMAND = re.compile(r"`[^`]+`")
_GLUE = (
    "\N{NO-BREAK SPACE}"  # where textwrap does not break; printable() leaves none of it in a text
)
# A number and its unit: no line end comes between them, but they need no line of their own, as commands do.
_MEASURE = re.compile(r"(?<![^\s(])[\d.,–]+ (?=%|(?:[kKMGT]i?)?B\b|(?:[mnµ]s|s|min|h)\b)")
_NEAR = "\ue001"


def console(to_stderr: bool = False) -> "Console":
    """A console on stdout or stderr; NO_COLOR and a pipe get plain text.

    A terminal's width is its own; a pipe's is COLUMNS if that is set, within 60 to 200 columns.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    width = 0
    if stream.isatty():
        with suppress(OSError):
            width = min(WIDEST, os.get_terminal_size(stream.fileno()).columns)
    if width <= 0:  # a pipe, or a terminal that does not know its size
        columns = os.environ.get("COLUMNS", "")
        width = min(WIDEST, max(NARROWEST, int(columns))) if columns.isdecimal() else WIDTH
    width = max(40, width)
    return cast("Console", Lines(stream, width, partial(_rich, stream, width)))


def _rich(stream: TextIO, width: int) -> "Console":
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            """Leaves it to the command: rich would end the process with status 1."""
            raise BrokenPipeError

    return Ours(
        file=stream,
        width=width,
        # Without colours rich would still write in bold and dim: to ask for none is to ask for text.
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        soft_wrap=False,
    )


class Field(Struct, frozen=True):
    """A column of a printed table: heading, how a value is written, whether it is text.

    An `extra` one is shown on a wide terminal that has room for it, and not missed elsewhere. A heading may have several
    lines. A text is cut to `least` cells at most; one that has `breaks` goes on in a further line before one of these instead.
    """

    heading: str
    write: Callable[[object], str]
    left: bool = False
    extra: bool = False
    breaks: str = ""
    least: int = TEXT_LEAST


class Laid(Struct, frozen=True):
    """A table that fits: its lines, and the headings of the columns for which there was no room."""

    lines: list[Text]
    left_out: tuple[str, ...]


def shorten(text: str, width: int) -> str:
    """Text cut in the middle to `width` cells: of a path, both ends say the most."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 3
    tail = width - 1 - head
    return set_cell_size(text, head) + "…" + set_cell_size(text[::-1], tail)[::-1]


def rows(
    fields: Sequence[Field], values: Iterable[Sequence[object]], width: int, indent: int = 2
) -> Laid:
    """A table as lines: numbers to the right; texts are cut, the widest first, before a column goes."""
    written = [
        [printable(field.write(value)) for field, value in zip(fields, row, strict=True)]
        for row in values
    ]
    widths = [
        max(map(cell_len, [*field.heading.split("\n"), *(row[at] for row in written)]))
        for at, field in enumerate(fields)
    ]
    texts = [at for at, field in enumerate(fields) if field.left]
    # What nothing is known of goes, but for what the rows are called by.
    empty = {
        at for at in range(1, len(fields)) if written and all(row[at] == UNKNOWN for row in written)
    }
    shown = _fitting(fields, widths, texts, width - indent, empty)
    over = indent + sum(widths[at] for at in shown) + 2 * (len(shown) - 1) - width
    cut = {at for at in texts if at in shown and widths[at] > fields[at].least}
    while over > 0 and cut:
        widest = max(cut, key=lambda at: (widths[at], at))
        widths[widest] -= 1
        over -= 1
        cut = {at for at in cut if widths[at] > fields[at].least}
    kept, wide = [fields[at] for at in shown], [widths[at] for at in shown]
    headings = [field.heading.split("\n") for field in kept]
    most = max(map(len, headings))
    lines = [
        _line([([""] * most + one)[at - most] for one in headings], kept, wide, indent, "dim")
        for at in range(most)
    ]
    for row in written:
        cells = [_broken(row[at], fields[at], widths[at]) for at in shown]
        lines += [
            _line([one[at] if at < len(one) else "" for one in cells], kept, wide, indent, "")
            for at in range(max(map(len, cells)))
        ]
    left_out = (
        f.heading
        for at, f in enumerate(fields)
        if at not in shown and at not in empty and not f.extra
    )
    return Laid(lines, tuple(left_out))


def _fitting(
    fields: Sequence[Field],
    widths: Sequence[int],
    texts: Sequence[int],
    room: int,
    empty: Collection[int] = (),
) -> list[int]:
    """Which columns are shown: all that fit from the left, for the first ones matter most; then extra ones.

    A text may be cut for the columns that belong to the table, and not for extra ones.
    """
    shown = [at for at, field in enumerate(fields) if not field.extra and at not in empty]
    while len(shown) > 1 and _least(fields, widths, shown, texts) > room:
        shown.pop()
    used = sum(widths[at] for at in shown) + 2 * (len(shown) - 1)
    for at, field in enumerate(fields):
        if field.extra and at not in empty and room > WIDTH and used + 2 + widths[at] <= room:
            shown.append(at)
            used += 2 + widths[at]
    return shown


def print_rows(
    out: "Console", fields: Sequence[Field], values: Iterable[Sequence[object]], whole: str = ""
) -> None:
    """Print a table; `whole` says where the columns are for which there was no room."""
    laid = rows(fields, values, out.width)
    for line in laid.lines:
        out.print(line, soft_wrap=True)
    if laid.left_out:
        where = f" ({whole})" if whole else " (--json has them)"
        paragraph(out, f"not shown, for lack of room: {', '.join(laid.left_out)}{where}", "dim", 2)


def _least(
    fields: Sequence[Field], widths: Sequence[int], shown: Sequence[int], texts: Sequence[int]
) -> int:
    """The width that columns need when texts are cut as far as they may be."""
    cut = sum(max(0, widths[at] - fields[at].least) for at in texts if at in shown)
    return sum(widths[at] for at in shown) + 2 * (len(shown) - 1) - cut


def _broken(text: str, field: Field, width: int) -> list[str]:
    """A cell in as many lines as it takes."""
    if not field.breaks or cell_len(text) <= width:
        return [text]
    lines = [""]
    for part in text.split(field.breaks):
        more = f"{lines[-1]}{field.breaks}{part}" if lines[-1] else part
        if cell_len(more) <= width or not lines[-1]:
            lines[-1] = more
        else:
            lines.append(f"{field.breaks.lstrip()}{part}")
    return lines


def _line(
    cells: Sequence[str], fields: Sequence[Field], widths: Sequence[int], indent: int, style: str
) -> Text:
    parts = []
    for cell, field, width in zip(cells, fields, widths, strict=True):
        short = shorten(cell, width)
        space = " " * max(0, width - cell_len(short))
        parts.append(short + space if field.left else space + short)
    return Text((" " * indent + "  ".join(parts)).rstrip(), style=style)


def paragraph(out: "Console", text: str, style: str = "", indent: int = 0, hang: int = 2) -> None:
    """Print text in lines that fit, later ones indented by `hang` more.

    Commands in it (`…`) and addresses stay whole, and so do numbers with their units.
    """
    for line in wrapped(out, text, " " * indent, " " * (indent + hang)):
        out.print(Text(line, style=style), soft_wrap=True)


def labelled(out: "Console", label: str, text: str, style: str = "") -> None:
    """Print text next to a label, in its own column; nothing without a text."""
    if not text:
        return
    first, *rest = wrapped(out, text, " " * LABEL, " " * LABEL)
    out.print(Text.assemble((label.ljust(LABEL), "bold"), (first[LABEL:], style)), soft_wrap=True)
    for line in rest:
        out.print(Text(line, style), soft_wrap=True)


def wrapped(out: "Console", text: str, first: str = "", rest: str = "") -> list[str]:
    """Text in lines that fit, which begin with `first` and `rest`."""
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _GLUE), printable(text))
    whole = _MEASURE.sub(lambda found: found[0].replace(" ", _NEAR), whole)
    lines = textwrap.wrap(
        whole,
        min(out.width, WIDTH),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=_GLUE not in whole and "://" not in whole,
    )
    return [line.replace(_GLUE, " ").replace(_NEAR, " ") for line in lines]
