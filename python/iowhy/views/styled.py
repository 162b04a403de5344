"""Lines of styled text, for pages that are short and asked for often: rich takes as long to import as a verdict to draw.

`Text` is what rich's is to those pages, and a console of rich's takes it too. `Lines` prints it; whatever else is
printed there goes through a console of rich's, on the same stream.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # slow to import
    from rich.console import Console
    from rich.text import Text as RichText

#: Words of a style and their numbers in "select graphic rendition" (ECMA-48, and the bright colours of aixterm).
_CODES = {"bold": "1", "dim": "2"} | {
    f"{bright}{name}": str(first + at)
    for bright, first in (("", 30), ("bright_", 90))
    for at, name in enumerate(
        ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
    )
}
#: Letters that are known to be one cell wide: of Latin, Greek, Cyrillic, punctuation, arrows and boxes.
_ONE_CELL = frozenset(
    chr(code)
    for first, last in (
        (0x20, 0x7E), (0xA0, 0xAC), (0xAE, 0x2FF), (0x370, 0x482), (0x2010, 0x2027), (0x2190, 0x2193), (0x2500, 0x25FC),
    )
    for code in range(first, last + 1)
)  # fmt: skip


class Text:
    """Parts of text, each with a style: words of bold, dim and a colour."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self._parts = [(text, style)]

    @classmethod
    def assemble(cls, *parts: tuple[str, str]) -> "Text":
        """Parts one after the other."""
        made = cls()
        for text, style in parts:
            made.append(text, style)
        return made

    def append(self, text: str, style: str = "") -> "Text":
        """One more part at the end."""
        self._parts.append((text, style))
        return self

    @property
    def plain(self) -> str:
        """The text alone."""
        return "".join(text for text, _ in self._parts)

    @property
    def cell_len(self) -> int:
        """Cells of a terminal that it takes."""
        return cell_len(self.plain)

    def coded(self) -> str:
        """With the codes by which a terminal shows styles."""
        return "".join(_coded(text, style) for text, style in self._parts)

    def __rich__(self) -> "RichText":
        """As rich has it."""
        from rich.text import Text as RichText

        return RichText.assemble(*self._parts, no_wrap=True)


def _coded(text: str, style: str) -> str:
    codes = ";".join(_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if text and codes else text


def cell_len(text: str) -> int:
    """Cells of a terminal that a text takes."""
    if _ONE_CELL.issuperset(text):
        return len(text)
    from rich.cells import cell_len as measured

    return measured(text)


def set_cell_size(text: str, cells: int) -> str:
    """Text cut or filled up to so many cells."""
    if _ONE_CELL.issuperset(text):
        return text[:cells].ljust(cells)
    from rich.cells import set_cell_size as fitted

    return fitted(text, cells)


class Lines:
    """A console as rich has it, for lines that are not to be wrapped; for what else is printed `whole` makes rich's own.

    `color_system` is None where styles are not shown.
    """

    def __init__(self, stream: TextIO, width: int, whole: "Callable[[], Console]") -> None:
        self.file = stream
        self.width = width
        self.color_system = "standard" if shows_styles(stream) else None
        self._make = whole
        self._made: Console | None = None

    def print(self, *what: Any, soft_wrap: bool = False, **how: Any) -> None:
        """As rich's; a Text of ours on its own line needs no rich."""
        if how or len(what) > 1 or (what and not (soft_wrap and isinstance(what[0], Text))):
            self._whole.print(*what, soft_wrap=soft_wrap, **how)
            return
        text = "" if not what else what[0].plain if self.color_system is None else what[0].coded()
        self.file.write(f"{text}\n")
        self.file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    @property
    def _whole(self) -> "Console":
        if self._made is None:
            self._made = self._make()
        return self._made


def shows_styles(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows styles, by what rich goes by."""
    environment = os.environ
    if environment.get("NO_COLOR") or environment.get("TERM", "").lower() in ("dumb", "unknown"):
        return False
    compatible = environment.get("TTY_COMPATIBLE", "")
    if compatible in ("0", "1"):
        return compatible == "1"
    forced = environment.get("FORCE_COLOR")
    return bool(forced) if forced is not None else stream.isatty()
