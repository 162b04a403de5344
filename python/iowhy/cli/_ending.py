"""How a signal ends a command, and how the end of its CPU time does: with nothing left behind."""

import os
import resource
import signal
import sys
from itertools import takewhile
from types import FrameType
from typing import TYPE_CHECKING

from iowhy.cli._statuses import PROBLEM
from iowhy.recordings import box

if TYPE_CHECKING:
    from iowhy.errors import Problem

#: Of each recording that is read, the CPU time after which a command ends, and what sets another one.
MOST_CPU_NS, CPU_VARIABLE = 3600 * 10**9, "IOWHY_CPU_TIME"
#: After that much more the kernel kills it: code that is not Python's hears no signal.
_GRACE_S = 10


def end_by_signals() -> None:
    """SIGTERM and SIGHUP end a command as they would, but that the rows which did not fit into memory go, too.

    From now on; a signal that is ignored (nohup) stays so, and who handles one replaces this.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def end_after(recordings: int = 1) -> None:
    """So much CPU time may be taken for so many recordings or texts, by this process and by each that it starts: a hostile
    file may have no end. Of iowhy's own processes alone. Raises Problem for a senseless IOWHY_CPU_TIME.
    """
    if not box.is_own():
        return
    asked = os.environ.get(CPU_VARIABLE)
    most_ns = MOST_CPU_NS
    if asked:
        from iowhy.quantities import positive_duration_ns

        most_ns = positive_duration_ns(CPU_VARIABLE, asked)
    most_s = max(1, -(-most_ns * max(1, recordings) // 10**9))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY and hard <= most_s:
        return  # who started it allows less

    def end(_number: int, _frame: FrameType | None) -> None:
        _end_too_long(most_s)

    signal.signal(signal.SIGXCPU, end)
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s + _GRACE_S))


def _end_too_long(most_s: int) -> None:
    """As a Problem ends a command, but at once: threads that are in the middle of something are not waited for."""
    from iowhy.errors import Problem

    problem = Problem("too-much-cpu-time", most_ns=most_s * 10**9, cpu_variable=CPU_VARIABLE)
    _remove_what_was_spilled()
    document = document_of(problem)
    if document is not None:
        os.write(1, f"{document}\n".encode())
    os.write(2, f"iowhy: {problem}\n".encode())
    os._exit(PROBLEM)


def document_of(problem: "Problem") -> str | None:
    """An error as JSON, if the command was asked for that."""
    from iowhy.messages import json_text
    from iowhy.sentences import described

    asked = "--json" in takewhile("--".__ne__, sys.argv)
    return json_text({"error": described(problem.sentence)}) if asked else None


def _end(number: int, _frame: FrameType | None) -> None:
    # Not by an exception: threads of others (a live view's, which reads the terminal) would be waited for.
    _remove_what_was_spilled()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove_what_was_spilled() -> None:
    bounds = sys.modules.get("iowhy.recordings.query_limits")
    if bounds is not None:
        bounds.remove_private_folder()
