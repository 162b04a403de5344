"""The command of a recorder that was killed: it runs on, and is waited for here.

A process whose parent died goes to its next ancestor that asked for it (PR_SET_CHILD_SUBREAPER, prctl(2)); the
command is the recorder's child, so it comes to us, and with it what it left behind as a daemon.
"""

import os

from iowhy import proc_stat
from iowhy.hung_filesystem import answers

_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """From now on processes that descend from us and lose their parent become our children."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for(pid: int) -> int:
    """Waits for a child as `Popen.wait` does, and lets adopted ones that end go."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def eldest() -> int | None:
    """The child that was started first: of a recorder's, the command; None without children."""
    own = os.getpid()
    children = [pid for pid, parent in proc_stat.parents().items() if parent == own]
    found = dict(answers(children, proc_stat.fields))
    started = {pid: int(of[proc_stat.START_TICKS]) for pid, of in found.items() if of}
    return min(started or children, key=lambda pid: (started.get(pid, 0), pid), default=None)
