"""A table of any number of rows on the terminal: what is in sight is laid out, the rest is only sorted."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widget import Widget

from iowhy.views.table_columns import Column
from iowhy.views.terminal import rows as laid_out
from iowhy.views.top.columns import in_order

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from iowhy.reports.engine import Row

_SORTED = "▾", "▴"


class RowsTable(Widget, can_focus=True):
    """Rows by their columns, with one of them chosen; it keeps the chosen one by what it is, not by its place."""

    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "move(-10000000)", "first", show=False),
        Binding("G", "move(10000000)", "last", show=False),
        Binding("enter", "choose", "open", show=False),
    ]

    class Chosen(Message):
        """A row was opened."""

        def __init__(self, row: "Row") -> None:
            self.row = row
            super().__init__()

    def __init__(self, name_of: "Callable[[Row], object]") -> None:
        super().__init__()
        self._name_of = name_of
        self._every: Sequence[Row] = ()
        self.rows: list[Row] = []
        self.columns: tuple[Column, ...] = ()
        self.sorted_by: str | None = None
        self.descending = True
        self.filter = ""
        self.at = 0
        self._top = 0
        self.empty = "nothing yet"

    def show(self, columns: tuple[Column, ...], rows: "Sequence[Row]") -> None:
        """Other rows; the chosen one stays chosen where it still is among them."""
        chosen = self._name_of(self.rows[self.at]) if self.at < len(self.rows) else None
        self.columns, self._every = columns, rows
        self._order(chosen)

    def sort(self, step: int) -> None:
        """By the next column, or by the one before; beyond the last the report's own order."""
        keys = [None, *(column.key for column in self.columns)]
        at = keys.index(self.sorted_by) if self.sorted_by in keys else 0
        self.sorted_by = keys[(at + step) % len(keys)]
        column = next((one for one in self.columns if one.key == self.sorted_by), None)
        self.descending = column is None or not column.field.left
        self._order(None)

    def turn(self) -> None:
        """The other way around."""
        self.descending = not self.descending
        self._order(None)

    def narrow(self, text: str) -> None:
        """Only rows that hold this text in a column of theirs."""
        self.filter = text.casefold()
        self._order(None)

    def _order(self, chosen: object) -> None:
        rows = list(self._every)
        if self.filter:
            texts = [column.key for column in self.columns if column.field.left]
            texts.append("tgid")
            rows = [
                row
                for row in rows
                if any(self.filter in str(row.get(key, "")).casefold() for key in texts)
            ]
        if self.sorted_by is not None:
            rows = in_order(rows, self.sorted_by, descending=self.descending)
        elif not self.descending:
            rows.reverse()
        self.rows = rows
        self.at = min(self.at, max(len(rows) - 1, 0))
        if chosen is not None:
            self.at = next(
                (at for at, row in enumerate(rows) if self._name_of(row) == chosen), self.at
            )
        self.refresh()

    def action_move(self, step: int) -> None:
        """The chosen row moves."""
        self.at = max(0, min(self.at + step, len(self.rows) - 1))
        self.refresh()

    def action_page(self, step: int) -> None:
        """By what is in sight."""
        self.action_move(step * max(self.size.height - 2, 1))

    def action_choose(self) -> None:
        """Opens the chosen row."""
        if self.rows:
            self.post_message(self.Chosen(self.rows[self.at]))

    def on_click(self, event: events.Click) -> None:
        """A click chooses, one on the chosen row opens it."""
        at = self._top + event.y - 1
        if not 0 <= at < len(self.rows) or event.y < 1:
            return
        if at == self.at:
            self.action_choose()
        self.at = at
        self.refresh()

    def on_mouse_scroll_down(self) -> None:
        """Three rows on."""
        self.action_move(3)

    def on_mouse_scroll_up(self) -> None:
        """Three rows back."""
        self.action_move(-3)

    def render(self) -> Text:
        """The rows in sight, as wide as the terminal."""
        width, height = self.size.width, max(self.size.height - 1, 1)
        if not self.rows or not self.columns:
            return Text(f"  {self.empty}", "dim")
        self._top = max(min(self._top, self.at), self.at - height + 1)
        self._top = max(0, min(self._top, len(self.rows) - 1))
        seen = self.rows[self._top : self._top + height]
        values = [[row.get(column.key) for column in self.columns] for row in seen]
        laid = laid_out([column.field for column in self.columns], values, max(width, 20), 1)
        lines = [line.__rich__() for line in laid.lines]
        head = lines[0]
        column = next((one for one in self.columns if one.key == self.sorted_by), None)
        if column is not None:
            at = head.plain.find(column.field.heading)
            if at > 0:
                mark = _SORTED[0] if self.descending else _SORTED[1]
                head = Text(head.plain[: at - 1] + mark + head.plain[at:], "dim")
        out = [head]
        for number, line in enumerate(lines[1:]):
            if self._top + number == self.at:
                line = Text(line.plain.ljust(width), "reverse")
            out.append(line)
        for line in out:
            line.truncate(width)
        return Text("\n").join(out)
