"""What iowhy does itself in a process that is recorded is not that process's: its thread steps aside for it.

The recorder's programs in the kernel see that by a call that does nothing anywhere (recorder/bpf/aside.h): advice about no file, with a word
of ours as its offset. Where nothing is recorded, or from /proc alone, it is no more than that call.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_WORD = 0x696F776879 << 8
_BACK, _ASIDE = 0, 1


class _Depth(threading.local):
    asides = 0


_here = _Depth()


@contextmanager
def aside() -> Iterator[None]:
    """The block is iowhy's own work, and what it starts too."""
    if _here.asides == 0:
        _mark(_ASIDE)
    _here.asides += 1
    try:
        yield
    finally:
        _here.asides -= 1
        if _here.asides == 0:
            _mark(_BACK)


@contextmanager
def block(number: int) -> Iterator[None]:
    """Within iowhy's own work: a block that is the program's again, which a recorder knows by this number."""
    asides, _here.asides = _here.asides, 0
    _mark(_BACK, number)
    try:
        yield
    finally:
        _mark(_ASIDE, number)
        _here.asides = asides


def _mark(which: int, number: int = 0) -> None:
    with suppress(OSError):  # EBADF
        os.posix_fadvise(-1, _WORD | which, number, os.POSIX_FADV_NORMAL)
