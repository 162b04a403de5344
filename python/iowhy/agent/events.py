"""What the agent waits for: lines of the process that counts, and signals."""

import os
import selectors
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)


class Asked:
    """Signals that came; `wake` can be read when one has."""

    def __init__(self, wake: int) -> None:
        self.wake = wake
        self._came: list[int] = []

    def came(self, number: int, _frame: object) -> None:
        """Handles a signal: notes it."""
        self._came.append(number)

    def take(self) -> list[int]:
        """Those since it was last asked."""
        came, self._came = self._came, []
        return came


@contextmanager
def signals() -> Iterator[Asked]:
    """Signals wake whoever waits for a line, and are taken there."""
    wake, write = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(write, False)
    asked = Asked(wake)
    before = {number: signal.signal(number, asked.came) for number in NUMBERS}
    woken = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield asked
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(wake)
        os.close(write)


class Lines:
    """Lines of a process, or a signal, whichever comes first."""

    def __init__(self, stream: IO[bytes], asked: Asked) -> None:
        self._fd = stream.fileno()
        self._wake = asked.wake
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._fd, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)

    def next(self, timeout_s: float | None = None) -> str | None:
        """The next line; None: a signal came, or none did in time; empty: there is none any more."""
        while b"\n" not in self._rest:
            ready = {key.fd for key, _ in self._selector.select(timeout_s)}
            if not ready:
                return None
            if self._wake in ready:
                with suppress(BlockingIOError):
                    os.read(self._wake, 4096)
                return None
            more = os.read(self._fd, 1 << 16)
            if not more:
                return ""
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()
