"""A second thread that asks a recording what is going to be asked."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Thread, current_thread

AGAIN_S = 0.02


class Beside:
    """Takes one step after the other until they end, one fails, or `end`.

    What fails here fails again for whoever needs it, and is an error there.
    """

    def __init__(self, steps: Iterable[object]) -> None:
        self._ended = Event()
        self._thread = Thread(target=self._take, args=(steps,), daemon=True)
        self._thread.start()

    def is_here(self) -> bool:
        """Whether it is the calling thread."""
        return current_thread() is self._thread

    def end(self, interrupt: Callable[[], None]) -> None:
        """Has ended then; `interrupt` breaks off the query that it is at, which may be a long one."""
        self._ended.set()
        while self._thread.is_alive():
            # Between two queries there is nothing to break off yet.
            interrupt()
            self._thread.join(AGAIN_S)

    def _take(self, steps: Iterable[object]) -> None:
        with suppress(Exception):
            for _ in steps:
                if self._ended.is_set():
                    return
