"""What is under way, on stderr: one line that is written over; off a terminal a line now and then."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.messages import printable, say

TERMINAL_AFTER_S = 1.0
"""What takes less needs no word."""

ELSEWHERE_AFTER_S, ELSEWHERE_EVERY_S = 10.0, 60.0
"""Enough for a log to show that it is alive, and not so much that it fills it."""

_CLEAR = "\r\x1b[K"
_WIDTH = 98


@contextmanager
def working(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Says that `text` is under way, for how long, and that Ctrl-C ends it, while the block runs long.

    A thread writes it: the block may be one long query.
    """
    if quiet:
        yield
        return
    done = threading.Event()
    writer = threading.Thread(target=_write, args=(text, done), daemon=True)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def _write(text: str, done: threading.Event) -> None:
    began = time.monotonic()
    line = ProgressLine()
    while not done.wait(TERMINAL_AFTER_S):
        line.step(f"{text}, {time.monotonic() - began:.0f} s so far; Ctrl-C ends it")
    line.end()


class ProgressLine:
    """The line itself, for what goes on step by step in the caller's own thread."""

    def __init__(self, quiet: bool = False) -> None:
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet
        self._next = time.monotonic() + ELSEWHERE_AFTER_S
        self._drawn = False

    def step(self, text: str) -> None:
        """Now `text` is done."""
        if self._quiet:
            return
        if self._terminal:
            sys.stderr.write(f"{_CLEAR}{printable(text)[:_WIDTH]}")
            self._drawn = True
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + ELSEWHERE_EVERY_S
            say(text)
        sys.stderr.flush()

    def end(self) -> None:
        """Clears the line."""
        if self._drawn:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._drawn = False


class TrialsLine:
    """Where an experiment or a comparison of commands is, and how long it may still take.

    Off a terminal what goes on long is said again by a thread: one trial may take an hour.
    """

    def __init__(self, quiet: bool) -> None:
        self._line = ProgressLine(quiet)
        self._began = time.monotonic()
        self._text = ""
        self._writing = threading.Lock()
        self._ended: threading.Event | None = None
        self._again = not quiet and not sys.stderr.isatty()

    def step(self, text: str) -> None:
        """Something other than a trial."""
        self._say(f"{text}; Ctrl-C ends it")

    def trial(self, name: str, done: int, at_most: int) -> None:
        """Before each trial. The estimate is what is left at most: it may end earlier."""
        text = f"trial {done + 1} of at most {at_most}: {name}"
        if done == 0:
            self._began = time.monotonic()
        else:
            left = (time.monotonic() - self._began) / done * (at_most - done)
            text += (
                f", at most {left / 60:.0f} min left"
                if left > 90
                else f", at most {max(left, 1):.0f} s left"
            )
        self._say(f"{text}; Ctrl-C ends it")

    def note(self, text: str) -> None:
        """What is worth a line that stays."""
        say(text)

    def end(self) -> None:
        """Clears the line."""
        with self._writing:
            if self._ended is not None:
                self._ended.set()
                self._ended = None
            self._line.end()

    def _say(self, text: str) -> None:
        with self._writing:
            self._text = text
            self._line.step(text)
            if self._again and self._ended is None:
                self._ended = threading.Event()
                threading.Thread(target=self._repeat, args=(self._ended,), daemon=True).start()

    def _repeat(self, ended: threading.Event) -> None:
        while not ended.wait(TERMINAL_AFTER_S):
            with self._writing:
                if not ended.is_set():
                    self._line.step(self._text)
