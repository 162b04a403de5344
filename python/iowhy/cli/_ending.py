"""SIGTERM and SIGHUP end a command as Ctrl-C does: what it keeps on disk meanwhile goes with it."""

import signal
from types import FrameType

#: The signal that ended it, kept as DuckDB makes its own error of whatever ends a query.
_by: list[int] = []


def end_by_signals() -> None:
    """From now on they raise SystemExit(128 + number) in the main thread; one that is ignored (nohup) stays so."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    _by.append(number)
    raise SystemExit(128 + number)


def status_of_signal() -> int | None:
    """The exit status where one of them came, else None."""
    return 128 + _by[0] if _by else None
