"""Ageing: a filesystem whose free space is scattered, as after years of use."""

import ctypes
import mmap
import os
import random
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments.extents import extent_count

_PAGE = 4096
_TOOTH_UNITS = 4
_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # include/uapi/linux/falloc.h

#: Room that a filesystem keeps back (XFS: for its trees, some 40 MiB of a GiB): it is there in one piece.
_RESERVED_BYTES = 96 << 20
#: btrfs has its trees in chunks of their own.
_RESERVED_IN_CHUNKS_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20
#: A piece of 1 MiB in as many extents is mostly single pages.
_SCATTERED_EXTENTS = 64

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


def comb(
    folder: Path,
    free_bytes: int,
    seed: int = 1,
    *,
    unit_bytes: int = _PAGE,
    extent_each: bool = False,
) -> None:
    """Leaves at least `free_bytes` free, all in single units, one out of each four, at places given by the seed.

    The rest of the space is taken by files in `folder`. What is written afterwards is scattered. A unit is a page,
    or what the filesystem allocates at once. `extent_each` is for btrfs, which frees an extent only when no part of
    it is in use: there every page must be one.
    Raises Problem when the filesystem is too small or cannot punch holes.
    """
    tooth = _TOOTH_UNITS * unit_bytes
    reserved = _RESERVED_IN_CHUNKS_BYTES if extent_each else _RESERVED_BYTES
    size = (free_bytes + reserved) * _TOOTH_UNITS // tooth * tooth
    numbers = random.Random(seed)
    handle = os.open(folder / "aged-comb", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if extent_each:
            _write_pages(folder / "aged-comb", size, numbers)
        elif not _fallocate(handle, 0, 0, size):
            raise Problem("no-room-to-age", path=folder, error=os.strerror(ctypes.get_errno()))
        fill(folder / "aged-rest")
        for start in range(0, size, tooth):
            at = start + numbers.randrange(_TOOTH_UNITS) * unit_bytes
            if not _fallocate(handle, _KEEP_SIZE | _PUNCH_HOLE, at, unit_bytes):
                raise Problem("no-holes", path=folder, strerror=os.strerror(ctypes.get_errno()))
        os.fsync(handle)
    finally:
        os.close(handle)
    if unit_bytes == _PAGE:
        _take_pieces(folder / "aged-pieces")
    found = os.statvfs(folder)
    if found.f_bavail * found.f_frsize < free_bytes:
        raise Problem("too-scattered-to-age", path=folder)


def _write_pages(path: Path, size: int, numbers: random.Random) -> None:
    """Writes a file past the page cache page by page, so that each is its own extent."""
    page = mmap.mmap(-1, _PAGE)
    page[:] = numbers.randbytes(_PAGE)
    handle = os.open(path, os.O_WRONLY | os.O_DIRECT)
    try:
        for start in range(0, size, _PAGE):
            os.pwrite(handle, page, start)
        os.fsync(handle)
    except OSError as error:
        raise Problem("no-room-to-age", path=path, error=error.strerror) from None
    finally:
        os.close(handle)
        page.close()


def _take_pieces(path: Path) -> None:
    """Takes what is still free in one piece: the room that a filesystem had kept back from :func:`fill`.

    Now that the comb pays for it, such room would be handed out first.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    taken, extents = 0, 0
    try:
        while _fallocate(handle, 0, taken, _PIECE_BYTES):
            os.fsync(handle)
            now = extent_count(handle)
            if now - extents >= _SCATTERED_EXTENTS:
                os.ftruncate(handle, taken)
                break
            taken, extents = taken + _PIECE_BYTES, now
        os.fsync(handle)
    finally:
        os.close(handle)
