"""The terminal: one console, tables as wide as it is, sentences to 100 columns, plain text in a pipe."""

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
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
TEXT_LEAST = 12  # cells of a text that still tell something


_COMMAND = re.compile(r"`[^`]+`")
_GLUE = (
    "\N{NO-BREAK SPACE}"  # where textwrap does not break; printable() leaves none of it in a text
)
# A number and its unit: no line end comes between them, but they need no line of their own, as commands do.
_MEASURE = re.compile(r"(?<![^\s(])[\d.,]+ (?=%|(?:[kKMGT]i?)?B\b|(?:[mnµ]s|s|min|h)\b)")
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

    An `extra` one is shown on a wide terminal that has room for it, and not missed elsewhere.
    """

    heading: str
    write: Callable[[object], str]
    left: bool = False
    extra: bool = False


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
    """A table as lines: numbers to the right, the last text column takes what is left."""
    written = [
        [printable(field.write(value)) for field, value in zip(fields, row, strict=True)]
        for row in values
    ]
    widths = [
        max([cell_len(field.heading), *(cell_len(row[at]) for row in written)])
        for at, field in enumerate(fields)
    ]
    texts = [at for at, field in enumerate(fields) if field.left]
    shown = _fitting(fields, widths, texts, width - indent)
    over = indent + sum(widths[at] for at in shown) + 2 * (len(shown) - 1) - width
    if over > 0 and texts:
        widest = max((at for at in texts if at in shown), key=lambda at: widths[at])
        widths[widest] = max(TEXT_LEAST, widths[widest] - over)
    kept, wide = [fields[at] for at in shown], [widths[at] for at in shown]
    lines = [_line([f.heading for f in kept], kept, wide, indent, "dim")]
    lines += [_line([row[at] for at in shown], kept, wide, indent, "") for row in written]
    left_out = (f.heading for at, f in enumerate(fields) if at not in shown and not f.extra)
    return Laid(lines, tuple(left_out))


def _fitting(
    fields: Sequence[Field], widths: Sequence[int], texts: Sequence[int], room: int
) -> list[int]:
    """Which columns are shown: all that fit from the left, for the first ones matter most; then extra ones.

    A text may be cut for the columns that belong to the table, and not for extra ones.
    """
    shown = [at for at, field in enumerate(fields) if not field.extra]
    while len(shown) > 1 and _least(widths, shown, texts) > room:
        shown.pop()
    used = sum(widths[at] for at in shown) + 2 * (len(shown) - 1)
    for at, field in enumerate(fields):
        if field.extra and room > WIDTH and used + 2 + widths[at] <= room:
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


def _least(widths: Sequence[int], shown: Sequence[int], texts: Sequence[int]) -> int:
    """The width that columns need when the widest text is cut as far as it may be."""
    cut = [widths[at] - TEXT_LEAST for at in texts if at in shown]
    return sum(widths[at] for at in shown) + 2 * (len(shown) - 1) - max([0, *cut])


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
