"""The live view itself: it polls a recording, has its moments looked at on a thread, and draws them."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text
from textual.app import App, ComposeResult
from textual.widgets import Static

from iowhy.messages import printable
from iowhy.views.top import head
from iowhy.views.top.driver import paced
from iowhy.views.top.keys import BINDINGS, KEYS
from iowhy.views.top.levels import Level, Page, opened, pages_of
from iowhy.views.top.table import RowsTable
from iowhy.views.top.text_pane import TextPane, read_tail, tail_lines
from iowhy.watching.asked import Asked
from iowhy.watching.growing import Stamp, stamp_of
from iowhy.watching.looking import Looked, Looking

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from textual.driver import Driver

    from iowhy.reports.engine import Row
    from iowhy.watching.moment import Moment

POLL_S = 1.0
#: Spans of time that + and - go through; None is the whole recording.
SPANS_NS = (1_000_000_000, 3_000_000_000, 10_000_000_000, 60_000_000_000, 600_000_000_000, None)
LIVE_SPAN = 2


class Shown(Struct, frozen=True):
    """What is looked at: the recording, its name, the file that its command prints to, how its recorder is ended."""

    path: Path
    output: Path | None = None
    end: Callable[[], None] | None = None
    span_at: int = len(SPANS_NS) - 1


class TopApp(App[bool]):
    """The live view. Its result is whether what was begun for it shall go on when it is left."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #title { height: 1; }
    #budget { height: auto; max-height: 6; }
    .-low #budget { max-height: 3; }
    #pages { height: 1; }
    RowsTable { height: 1fr; }
    TextPane { height: 1fr; display: none; }
    #said { height: 1; }
    """
    #: Where there are few lines, the rows get them.
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-tall")]  # noqa: RUF012 - as its base declares it
    BINDINGS: ClassVar = BINDINGS

    def __init__(self, shown: Shown) -> None:
        super().__init__()
        self.shown = shown
        self.looking = Looking(shown.path)
        self.moment: Moment | None = None
        self.findings: Sequence[Row] = ()
        self.levels = [Level("", pages_of(None, ()))]
        self.asked = Asked(SPANS_NS[shown.span_at])
        self.paused = False
        self.problem = ""
        self.typing: str | None = None
        self._span_at = shown.span_at
        self._stamp: Stamp | None = None
        self._looked: Asked | None = None
        self._busy = False
        self._judged = False
        self._text: str | None = None
        self.table = RowsTable(self._name_of)
        self.text = TextPane()

    def get_driver_class(self) -> type["Driver"]:
        """What draws."""
        return paced(super().get_driver_class())

    def compose(self) -> ComposeResult:
        """Title, budget, pages, the table or text, and what there is to say."""
        yield Static(id="title")
        yield Static(id="budget")
        yield Static(id="pages")
        yield self.table
        yield self.text
        yield Static(id="said")

    def on_mount(self) -> None:
        """The first frame is before anything is read."""
        self.table.focus()
        self.table.empty = "reading …"
        self._draw()
        self.set_interval(POLL_S, self._poll)
        self.call_after_refresh(self._poll)

    def on_resize(self) -> None:
        """Everything is laid out again, once the new size is known: this is asked before the application takes note of it."""
        self.call_next(self._draw)

    # Reading.

    def _poll(self) -> None:
        """Looks again where something changed; a recording at rest costs the listing of its folder."""
        if self._text == "output":
            self._show_output()
        if self._busy or (self.paused and self._looked == self.asked):
            return
        stamp = stamp_of(self.shown.path)
        changed = stamp != self._stamp or (
            self.moment is not None and self.moment.of.grows and stamp is None
        )
        back = self.asked.end_ns is not None and self._looked == self.asked
        if self._looked == self.asked and (
            back or not changed or not self.looking.due(time.monotonic())
        ):
            return
        self._stamp, self._looked, self._busy = stamp, self.asked, True
        asked, level = self.asked, self.levels[-1]
        self.run_worker(lambda: self._look(asked, level), thread=True, exclusive=True)

    def _look(self, asked: Asked, level: Level) -> None:
        """On its own thread: the moment, then what is opened in it, then the findings, each shown when it is there."""
        for found in self.looking.look(asked, level.ask):
            self.call_from_thread(self._found, found, level)
        self.call_from_thread(self._done)

    def _found(self, found: Looked, level: Level) -> None:
        # It is said in one line, where what is wrong matters more than the folders above.
        self.problem = found.problem.replace(str(self.shown.path), self.shown.path.name)
        if found.moment is not None:
            self.moment = found.moment
        if found.findings is not None:
            self.findings, self._judged = found.findings, True
        self.levels[0].pages = pages_of(self.moment, self.findings)
        if found.pages is not None:
            level.pages = found.pages
            level.at = min(level.at, max(len(found.pages) - 1, 0))
        self._draw()

    def _done(self) -> None:
        self._busy = False
        if self._looked != self.asked:
            self._poll()

    def _ask_again(self) -> None:
        self._looked = None
        self._draw()
        self._poll()

    # Drawing.

    def _name_of(self, row: "Row") -> object:
        return tuple(row.get(key) for key in self._page_names)

    @property
    def _page_names(self) -> tuple[str, ...]:
        level = self.levels[-1]
        return level.pages[level.at].names if level.pages else ()

    @property
    def state(self) -> str:
        """What the recording does, or what the view does with it."""
        if self.problem:
            return "not there" if self._stamp is None else "cannot be read"
        if self.moment is None:
            return "reading"
        if self.paused:
            return "paused"
        if self.asked.end_ns is not None:
            return "looking back"
        if self.moment.of.grows:
            return "recording"
        if not self.moment.whole:
            return "not whole"
        return "finished" if self.moment.of.recording.manifest.complete else "cut off"

    def _draw(self) -> None:
        if not self.query("#title"):
            return
        width = self.size.width
        title = head.title(self.shown.path.name, self.state, self.moment, width)
        self.query_one("#title", Static).update(title)
        budget = () if self.moment is None else self.moment.budget
        coloured = not self.no_color
        shown = head.budget(budget, width, coloured) if self._begun else ""
        self.query_one("#budget", Static).update(shown)
        self._draw_pages(width)
        self.query_one("#said", Static).update(self._said(width))
        self.table.display = self._text is None
        self.text.display = self._text is not None
        level = self.levels[-1]
        if self._text is None:
            page = level.pages[level.at] if level.pages else None
            self.table.empty = self._nothing(page)
            self.table.show(page.columns if page else (), page.rows if page else ())

    @property
    def _begun(self) -> bool:
        """Whether there is a stretch of time to look at."""
        of = None if self.moment is None else self.moment.of
        return of is not None and (not of.grows or of.end_ns > of.start_ns)

    def _nothing(self, page: Page | None) -> str:
        """What is shown instead of rows."""
        if self.problem:
            return "nothing of it can be read"
        if self.moment is None or page is None:
            return "reading …"
        if not self._begun:
            return "its first seconds are being recorded …"
        if page.opens == "finding" and not self._judged:
            return "not judged yet"
        return "nothing was recorded that this could show"

    def _draw_pages(self, width: int) -> None:
        level = self.levels[-1]
        titles = [page.title for page in level.pages]
        if len(self.levels) == 1 and self.shown.output is not None:
            titles.append("Output")
        chosen = level.at if self._text is None else -1
        if self._text == "output":
            chosen = len(titles) - 1
        self.query_one("#pages", Static).update(head.pages(level.title, titles, chosen, width))

    def _said(self, width: int) -> Text:
        if self.typing is not None:
            words, style = f"show only: {self.typing}▏", "bold"
        elif self.problem:
            words, style = self.problem, "yellow"
        elif self.table.filter:
            words, style = f"only what holds {self.table.filter!r}; escape shows all", "yellow"
        else:
            words, style = (
                "? keys  enter opens  s sorts  / filters  ← back in time  space pauses  q leaves",
                "dim",
            )
        text = Text(f" {printable(words)}", style, no_wrap=True)
        text.truncate(width, overflow="ellipsis")
        return text

    # Keys.

    def on_key(self, event: object) -> None:
        """Letters, while a text is typed."""
        if self.typing is None:
            return
        key = getattr(event, "key", "")
        character = getattr(event, "character", None)
        if key in ("enter", "escape"):
            self.table.narrow("" if key == "escape" else self.typing)
            self.typing = None
        elif key == "backspace":
            self.typing = self.typing[:-1]
        elif character and character.isprintable():
            self.typing += character
        if self.typing is not None:
            self.table.narrow(self.typing)
        event.stop()  # type: ignore[attr-defined]
        event.prevent_default()  # type: ignore[attr-defined]
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """While a text is typed, letters are letters."""
        del parameters
        return self.typing is None or action == "quit"

    def on_rows_table_chosen(self, chosen: RowsTable.Chosen) -> None:
        """Opens a row."""
        level = self.levels[-1]
        kind = level.pages[level.at].opens
        if kind == "finding":
            self._show_text("finding", self.looking.finding_lines(chosen.row))
            return
        deeper = None if kind is None else opened(kind, chosen.row)
        if deeper is not None:
            self.levels.append(deeper)
            self._plain_table()
            self._ask_again()

    def action_page(self, at: int) -> None:
        """A page by its number."""
        level = self.levels[-1]
        if at < len(level.pages):
            level.at = at
            self._text = None
            self._plain_table()
            self._draw()
        elif at == len(level.pages) and len(self.levels) == 1 and self.shown.output is not None:
            self._show_output()

    def action_next_page(self, step: int) -> None:
        """The next page, or the one before."""
        level = self.levels[-1]
        if level.pages:
            self.action_page((level.at + step) % len(level.pages))

    def action_out(self) -> None:
        """Out of a text, a filter, or what was opened."""
        if self._text is not None:
            self._text = None
            self.table.focus()
        elif self.table.filter:
            self.table.narrow("")
        elif len(self.levels) > 1:
            self.levels.pop()
            self._plain_table()
        self._draw()

    def _plain_table(self) -> None:
        self.table.at, self.table.sorted_by, self.table.descending = 0, None, True
        self.table.filter = ""

    def action_sort(self, step: int) -> None:
        """By another column."""
        self.table.sort(step)

    def action_turn(self) -> None:
        """The other way around."""
        self.table.turn()

    def action_filter(self) -> None:
        """Begins to type what rows must hold."""
        self.typing = ""
        self._draw()

    def action_span(self, step: int) -> None:
        """A longer or shorter stretch; each shorter one is shorter than the recording, or nothing would be seen of it."""
        at = max(0, min(self._span_at + step, len(SPANS_NS) - 1))
        if step < 0 and self.moment is not None:
            whole = self.moment.of.end_ns - self.moment.of.start_ns
            while at > 0 and (SPANS_NS[at] or whole) >= whole:
                at -= 1
        self._span_at = at
        self.asked = replace(self.asked, span_ns=SPANS_NS[self._span_at])
        self._ask_again()

    def action_shift(self, step: int) -> None:
        """Back in time by half of the stretch, or forward; beyond the end it is the present again."""
        if self.moment is None:
            return
        whole = self.moment.of.end_ns - self.moment.of.start_ns
        span = self.asked.span_ns
        if span is None or span >= whole:
            span = max(whole // 4, 1)
        end = (whole if self.asked.end_ns is None else self.asked.end_ns) + step * (span // 2)
        self.asked = Asked(span, None if end >= whole else max(end, span))
        self._ask_again()

    def action_live(self) -> None:
        """As it grows."""
        self.paused = False
        self.asked = Asked(SPANS_NS[self._span_at])
        self._ask_again()

    def action_pause(self) -> None:
        """Nothing is looked at again until the next press."""
        self.paused = not self.paused
        self._draw()

    def action_keys(self) -> None:
        """Which keys there are."""
        aside = self.size.width >= 80  # else the words below their keys
        lines = [f"{keys:30} {does}" if aside else f"{keys}: {does}" for keys, does in KEYS]
        self._show_text("keys", [(line, "") for line in lines])

    def action_detach(self) -> None:
        """Leaves, and what was begun goes on."""
        self.exit(True)

    def action_end_recording(self) -> None:
        """Ends the recorder that this view began, and its command."""
        if self.shown.end is not None:
            self.shown.end()

    def _show_text(self, what: str, lines: list[tuple[str, str]], follows: bool = False) -> None:
        fresh = self._text != what
        self._text = what
        self.text.show(lines, follows)
        if fresh:
            self.text.display = True
            self.text.focus()
            self._draw()

    def _show_output(self) -> None:
        if self.shown.output is not None:
            self._show_text("output", tail_lines(read_tail(str(self.shown.output))), follows=True)
