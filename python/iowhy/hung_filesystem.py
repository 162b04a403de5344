"""A filesystem that has stopped answering (NFS, FUSE, a hung disk) ends a command with one message, not with its wait."""

import os
import queue
import select
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from iowhy.errors import Problem

WITHIN_S = 10.0
"""Servers that answer at all answer sooner."""
_PROCESS_WITHIN_S = 0.5
"""So does a process of which the kernel shows anything."""

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def must_answer(path: Path, within_s: float = WITHIN_S, *, made_in: bool = False) -> None:
    """Raises Problem if the filesystem of `path` has not answered in this time.

    `made_in`: something is to be made in it. What is in memory a filesystem says of a disk that answers nobody, too; so it is
    asked to make a file without a name (where it can, open(2), O_TMPFILE).
    A process of its own asks: it may wait beyond the reach of signals, and is left to do so.
    """
    ended, held = os.pipe()
    asking = os.fork()
    if asking == 0:
        os.closerange(0, held)  # who reads what we print must not wait for this one
        os.closerange(held + 1, 1024)
        try:
            os.stat(path)  # noqa: PTH116
            if made_in:
                os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600)
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
        raise Problem("filesystem-silent", path=path, within_s=within_s)


def answers(
    asked: Sequence[_Asked], ask: Callable[[_Asked], _Answer], within_s: float = _PROCESS_WITHIN_S
) -> Iterator[tuple[_Asked, _Answer]]:
    """What `ask`, which raises nothing, says of each, without those of which it says nothing in this time.

    A thread asks, and is left to wait and to ask on: this is for files of /proc, for which what ends this process ends the thread too.
    """
    left = list(asked)
    while left:
        said: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        threading.Thread(target=_ask_all, args=(left, ask, said), daemon=True).start()
        with suppress(queue.Empty):
            while left:
                answer = said.get(timeout=within_s)
                yield left[0], answer
                left = left[1:]
        left = left[1:]


def _ask_all(
    asked: Sequence[_Asked],
    ask: Callable[[_Asked], _Answer],
    said: queue.SimpleQueue[_Answer],
) -> None:
    for one in asked:
        said.put(ask(one))
