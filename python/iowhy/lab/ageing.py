"""Ageing: a filesystem whose free space lies scattered, as after years of use."""

import ctypes
import os
import random
from pathlib import Path

from iowhy.errors import Problem

_PAGE = 4096
_TOOTH_PAGES = 4
_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # include/uapi/linux/falloc.h

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


def _fallocate(handle: int, mode: int, offset: int, length: int) -> bool:
    return bool(_libc.fallocate(handle, mode, offset, length) == 0)


def fill(path: Path) -> int:
    """Takes all free space below `path` with one file; returns its bytes."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    taken, step = 0, 1 << 28
    try:
        while step >= _PAGE:
            if _fallocate(handle, 0, taken, step):
                taken += step
            else:
                step //= 2
        os.fsync(handle)
    finally:
        os.close(handle)
    return taken


def comb(folder: Path, free_bytes: int, seed: int = 1) -> None:
    """Leaves about `free_bytes` free in single pages, one out of each four, at places given by the seed.

    The rest of the space is taken by two files in `folder`. What is written afterwards is
    scattered. Raises Problem when the filesystem is too small or cannot punch holes (ext4 and xfs can).
    """
    tooth = _TOOTH_PAGES * _PAGE
    size = free_bytes * _TOOTH_PAGES // tooth * tooth
    numbers = random.Random(seed)
    handle = os.open(folder / "aged-comb", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _fallocate(handle, 0, 0, size):
            raise Problem(f"{folder}: {os.strerror(ctypes.get_errno())}: no room to age it")
        fill(folder / "aged-rest")
        for start in range(0, size, tooth):
            at = start + numbers.randrange(_TOOTH_PAGES) * _PAGE
            if not _fallocate(handle, _KEEP_SIZE | _PUNCH_HOLE, at, _PAGE):
                raise Problem(f"{folder}: {os.strerror(ctypes.get_errno())}: no holes here")
        os.fsync(handle)
    finally:
        os.close(handle)
