"""How a recording ends when somebody asks for it: whoever gets the request, the recorder hears it.

Signals that were ignored when iowhy was started stay ignored, also in the recorder and its command (nohup(1)).
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from msgspec import Struct

#: Requests to end that reach only the process that they were sent to (`timeout`, a service manager, a closed
#: terminal). Ctrl-C is not among them: the terminal sends it to the recorder as well.
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


class Hearing(Struct):
    """Hands requests on to the recorder, once it runs; `asked` is a request that came before.

    `ends_ignored`: the caller ignored SIGCHLD, which is its command's again; here and in the recorder it
    would hide how a child ended (wait(2)).
    """

    process: int | None = None
    asked: int | None = None
    interrupts: bool = True
    ends_ignored: bool = False

    def hear(self, number: int, _frame: FrameType | None) -> None:
        """The handler of a request."""
        if self.process is None:
            self.asked = number
            return
        with suppress(ProcessLookupError):
            os.kill(self.process, number)

    def hand_to(self, process: int) -> None:
        """From now on `process` learns of it, also of what came before."""
        self.process = process
        if self.asked is not None:
            self.hear(self.asked, None)

    def restore(self) -> None:
        """In the recorder, before it is one: what was ignored is so again, and Ctrl-C ends it where it was not."""
        if self.interrupts:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self.ends_ignored:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@contextmanager
def recorder_hears() -> Iterator[Hearing]:
    """While a recorder runs, requests to end are its own; what they end with is still ours to judge.

    Only the main thread may set handlers (signal(7), Python's signal); in another one nothing changes.
    """
    hearing = Hearing()
    if threading.current_thread() is not threading.main_thread():
        yield hearing
        return
    hearing.interrupts = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    hearing.ends_ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    if hearing.ends_ignored:
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, hearing.hear)
    try:
        yield hearing
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
