"""A filesystem that has stopped answering (NFS, FUSE, a hung disk) ends a command with one message, not with its wait."""

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from iowhy.errors import Problem

WITHIN_S = 10.0
"""Servers that answer at all answer sooner."""


def must_answer(path: Path, within_s: float = WITHIN_S) -> None:
    """Raises Problem if the filesystem of `path` has not answered in this time.

    its own process asks: it may wait beyond the reach of signals, and is left to do so.
    """
    ended, held = os.pipe()
    asking = os.fork()
    if asking == 0:
        os.closerange(0, held)  # who reads what we print must not wait for this one
        os.closerange(held + 1, 1024)
        try:
            os.stat(path)  # noqa: PTH116
        finally:
            os._exit(0)
    os.close(held)
    with os.fdopen(ended, "rb") as pipe:
        answered = bool(select.select([pipe], [], [], within_s)[0])
    if not answered:
        os.kill(asking, signal.SIGKILL)
    # Who ignores SIGCHLD has no children to wait for; one that does not answer may not even be killed.
    with suppress(ChildProcessError):
        os.waitpid(asking, 0 if answered else os.WNOHANG)
    if not answered:
        raise Problem(
            f"{path}: its filesystem has not answered for {within_s:g} s; see whether its server is up, or unmount it (umount -l)"
        )
