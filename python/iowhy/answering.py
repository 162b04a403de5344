"""A filesystem that has stopped answering (NFS, FUSE, a hung disk) ends a command with one message, not with its wait."""

import os
import signal
import time
from pathlib import Path

from iowhy.errors import Problem

WITHIN_S = 10.0
"""Servers that answer at all answer sooner."""

_LOOK_EVERY_S = 0.002


def must_answer(path: Path, within_s: float = WITHIN_S) -> None:
    """Raises Problem if the filesystem of `path` has not answered in this time.

    A process of its own asks: it may wait beyond the reach of signals, and is left to do so.
    """
    asking = os.fork()
    if asking == 0:
        os.closerange(0, 1024)  # who reads what we print must not wait for this one
        try:
            os.stat(path)  # noqa: PTH116
        finally:
            os._exit(0)
    until = time.monotonic() + within_s
    while not os.waitpid(asking, os.WNOHANG)[0]:
        if time.monotonic() > until:
            os.kill(asking, signal.SIGKILL)
            raise Problem(
                f"{path}: its filesystem has not answered for {within_s:g} s; see whether its server is up, or unmount it (umount -l)"
            )
        time.sleep(_LOOK_EVERY_S)
