"""How a command ends: at once, and with nothing left behind."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn


def end_by_signals() -> None:
    """SIGTERM and SIGHUP end a command as they would, but that the rows which did not fit into memory go with it.

    From now on; a signal that is ignored (nohup) stays so, and who handles one by itself replaces this.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def leave(status: int) -> NoReturn:
    """Ends the process when all that is to be done at its end is done.

    Without what Python does then by itself: after a verdict, to take every object apart and to wait for the thread that
    puts its tables away takes a tenth of the whole, and the kernel takes back the memory as well.
    """
    if sys.gettrace() or sys.getprofile():
        sys.exit(status)  # who measures this process has something to print yet
    atexit._run_exitfuncs()  # as multiprocessing ends its processes
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _end(number: int, _frame: FrameType | None) -> None:
    # Not by an exception: threads of others (a live view's, which reads the terminal) would be waited for.
    bounds = sys.modules.get("iowhy.recording.bounds")
    if bounds is not None:
        bounds.remove_private_folder()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
