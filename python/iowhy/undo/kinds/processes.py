"""Processes that were started."""

import os
import signal
import time

from iowhy.undo import process
from iowhy.undo.kinds.entry import Entry, Failed, Kind, text_of, until, whole_number

MARK_VARIABLE = "IOWHY_MARK"
"""Environment variable by which the processes of a trial are found again."""

_UNDECIDED_S = 1.0
_CLEAN_LOOKS = 3


def _kill(pid: int, start: int) -> bool:
    """Kills exactly this process; True when it is gone (a zombie counts: only its parent reaps)."""
    if process.start_ticks(pid) != start or process.is_zombie(pid):
        return True
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        # The pidfd now names one process for good: check again that it is the one meant.
        if process.start_ticks(pid) != start:
            return True
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError as error:
        raise Failed(f"kill {pid}: {error.strerror}") from error
    finally:
        os.close(handle)
    return False


def _check_marked(entry: Entry) -> None:
    text_of(entry, "mark", r"[0-9a-f]{32}")
    if "after_ticks" in entry:
        whole_number(entry, "after_ticks", 0)


def _undo_marked(entry: Entry) -> None:
    own = os.getpid()
    wait_for_undecided = time.monotonic() + _UNDECIDED_S
    clean = 0

    def gone() -> bool:
        nonlocal clean
        seen = process.marked(MARK_VARIABLE, entry["mark"], entry.get("after_ticks", 0))
        alive = False
        for pid in seen.found:
            start = process.start_ticks(pid)
            if pid != own and start is not None and not _kill(pid, start):
                alive = True
        undecided = bool(seen.undecided) and time.monotonic() < wait_for_undecided
        # One that was just being forked is in no list yet: only several empty looks count.
        clean = 0 if alive or undecided else clean + 1
        return clean >= _CLEAN_LOOKS

    if not until(gone):
        raise Failed(f"processes marked {entry['mark']} do not end")


KILL_MARKED = Kind(_check_marked, _undo_marked)
