"""Text on the live view: a finding with its chain, the keys, what the command prints."""

from typing import ClassVar

from rich.text import Text
from textual.widget import Widget

from iowhy.messages import printable

_TAIL_BYTES = 1 << 16


class TextPane(Widget, can_focus=True):
    """Lines that are wrapped; `follows` shows the last ones."""

    BINDINGS: ClassVar = [
        ("up,k", "move(-1)", "up"),
        ("down,j", "move(1)", "down"),
        ("pageup", "move(-20)", "page up"),
        ("pagedown", "move(20)", "page down"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[str, str]] = []
        self._top = 0
        self._follows = False

    def show(self, lines: list[tuple[str, str]], follows: bool = False) -> None:
        """Lines with their styles."""
        self._lines, self._follows = lines, follows
        self._top = 0 if not follows else self._top
        self.refresh()

    def action_move(self, step: int) -> None:
        """Other lines; with `follows` counted from the end."""
        self._top = max(0, min(self._top + (-step if self._follows else step), len(self._lines)))
        self.refresh()

    def render(self) -> Text:
        """The lines that fit."""
        width, height = max(self.size.width - 1, 10), max(self.size.height, 1)
        wrapped: list[Text] = []
        for words, style in self._lines:
            text = Text(printable(words), style)
            wrapped += text.wrap(self.app.console, width) or [Text("")]
        if self._follows:
            last = max(len(wrapped) - self._top, min(height, len(wrapped)))
            wrapped = wrapped[max(last - height, 0) : last]
        else:
            wrapped = wrapped[self._top : self._top + height]
        return Text("\n").join(wrapped)


def tail_lines(data: bytes) -> list[tuple[str, str]]:
    """What a command printed, as lines that a terminal only shows: of a line that was written over, the last form."""
    text = data.decode("utf-8", "replace").expandtabs()
    return [(line.rstrip("\r").rpartition("\r")[2], "") for line in text.split("\n")]


def read_tail(path: str) -> bytes:
    """The end of a file that grows; nothing where it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES)
    except OSError:
        return b""
