"""How a signal ends a command: with nothing left behind."""

import os
import signal
import sys
from types import FrameType


def end_by_signals() -> None:
    """SIGTERM and SIGHUP end a command as they would, but that the rows which did not fit into memory go, too.

    From now on; a signal that is ignored (nohup) stays so, and who handles one replaces this.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    # Not by an exception: threads of others (a live view's, which reads the terminal) would be waited for.
    bounds = sys.modules.get("iowhy.recordings.query_limits")
    if bounds is not None:
        bounds.remove_private_folder()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
