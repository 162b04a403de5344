"""The terminal: one console, 100 columns at most, plain text where it is not a terminal."""

import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

WIDTH = 100
NARROWEST = 60  # a pipe is never narrower: the tables need it
TEXT_LEAST = 12  # cells of a text that still tell something


def console(to_stderr: bool = False) -> Console:
    """A console on stdout or stderr; NO_COLOR and a pipe get plain text.

    A terminal's width is its own; a pipe's is COLUMNS where that is set, within 60 to 100 columns.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    width = 0
    if stream.isatty():
        with suppress(OSError):
            width = min(WIDTH, os.get_terminal_size(stream.fileno()).columns)
    if width <= 0:  # a pipe, or a terminal that does not know its size
        columns = os.environ.get("COLUMNS", "")
        width = min(WIDTH, max(NARROWEST, int(columns))) if columns.isdecimal() else WIDTH
    return Console(
        file=stream,
        width=max(40, width),
        # Without colours rich would still write in bold and dim: to ask for none is to ask for text.
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        soft_wrap=False,
    )


@dataclass(frozen=True)
class Field:
    """A column of a printed table: heading, how a value is written, and whether it is text."""

    heading: str
    write: Callable[[object], str]
    left: bool = False


def printable(text: str) -> str:
    """Text from a recording, safe to print: control characters (also ESC) become visible."""
    return "".join(
        c
        if c.isprintable()
        else f"\\x{ord(c):02x}"
        if ord(c) < 256
        else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def shorten(text: str, width: int) -> str:
    """Text cut in the middle to `width` cells: of a path, both ends tell the most."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 3
    tail = width - 1 - head
    return set_cell_size(text, head) + "…" + set_cell_size(text[::-1], tail)[::-1]


def rows(
    fields: Sequence[Field], values: Iterable[Sequence[object]], width: int, indent: int = 2
) -> list[Text]:
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
    # A narrow terminal gets fewer columns rather than broken lines; the first ones matter most.
    shown = len(fields)
    while shown > 1 and _least(widths[:shown], texts) + indent > width:
        shown -= 1
    fields, widths = fields[:shown], widths[:shown]
    over = indent + sum(widths) + 2 * (shown - 1) - width
    if over > 0 and texts:
        widest = max(texts, key=lambda at: widths[at])
        widths[widest] = max(TEXT_LEAST, widths[widest] - over)
    lines = [_line([f.heading for f in fields], fields, widths, indent, "dim")]
    lines += [_line(row[:shown], fields, widths, indent, "") for row in written]
    return lines


def _least(widths: Sequence[int], texts: Sequence[int]) -> int:
    """The width that columns need when the widest text is cut as far as it may be."""
    cut = [widths[at] - TEXT_LEAST for at in texts if at < len(widths)]
    return sum(widths) + 2 * (len(widths) - 1) - max([0, *cut])


def _line(
    cells: Sequence[str], fields: Sequence[Field], widths: Sequence[int], indent: int, style: str
) -> Text:
    parts = []
    for cell, field, width in zip(cells, fields, widths, strict=True):
        short = shorten(cell, width)
        space = " " * max(0, width - cell_len(short))
        parts.append(short + space if field.left else space + short)
    return Text((" " * indent + "  ".join(parts)).rstrip(), style=style, no_wrap=True)


def paragraph(out: Console, text: str, style: str = "", indent: int = 0, hang: int = 2) -> None:
    """Print text in lines that fit, later ones indented by `hang` more."""
    for line in textwrap.wrap(
        printable(text),
        out.width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
    ):
        out.print(Text(line, style=style), soft_wrap=True)
