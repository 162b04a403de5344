"""The block device behind a directory, and what it can do at its best."""

import mmap
import os
import random
import re
import time
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.mounts import Mount, mounts
from iowhy.undo import Undo

_BLOCK = 1 << 20
_FILE_BYTES = 128 << 20


class Device(Struct, frozen=True):
    """A whole disk (not a partition): its name in /sys/block and its numbers."""

    name: str
    major: int
    minor: int

    def transferred_bytes(self) -> int | None:
        """Bytes read and written since boot (Documentation/block/stat.rst: sectors of 512 B)."""
        try:
            fields = Path(f"/sys/block/{self.name}/stat").read_text().split()
        except OSError:
            return None
        return (int(fields[2]) + int(fields[6])) * 512


class Best(Struct, frozen=True):
    """The most that a device was seen to do: large direct writes, and small ones at random places."""

    bytes_per_s: float
    requests_per_s: float


def device_of(path: Path) -> Device | None:
    """The disk that holds ``path``; None for filesystems in memory, on a network or unknown."""
    number = path.stat().st_dev
    node = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if os.major(number) == 0:
        # btrfs and others number themselves: the mount's source names the device.
        source = mount_source(path)
        if source is None or not source.startswith("/dev/"):
            return None
        try:
            real = Path(source).stat().st_rdev
        except OSError:
            return None
        node = Path(f"/sys/dev/block/{os.major(real)}:{os.minor(real)}")
    if not node.exists():
        return None
    node = node.resolve()
    if (node / "partition").exists():
        node = node.parent
    major, minor = (node / "dev").read_text().split(":")
    return Device(node.name, int(major), int(minor))


def mount_of(path: Path) -> Mount | None:
    """The mount that ``path`` is on."""
    real = os.path.realpath(path)
    best: Mount | None = None
    for one in mounts():
        inside = one.point == "/" or real == one.point or real.startswith(one.point + "/")
        # A later mount on the same point hides the earlier one.
        if inside and (best is None or len(one.point) >= len(best.point)):
            best = one
    return best


def mount_source(path: Path) -> str | None:
    """What is mounted where ``path`` is, e.g. /dev/vda1."""
    found = mount_of(path)
    return None if found is None else found.source


def disks_transferred_bytes() -> int:
    """Bytes that all whole disks moved since boot; stacked devices (loop, dm, md) do not count twice."""
    total = 0
    for node in Path("/sys/block").iterdir():
        if re.match(r"(loop|ram|zram|dm-|md)", node.name):
            continue
        found = Device(node.name, 0, 0).transferred_bytes()
        total += found or 0
    return total


def open_direct(path: Path, size_bytes: int) -> int:
    """A file of ``size_bytes`` with its blocks written, open for writing past the page cache.

    Raises Problem when the filesystem offers no direct I/O or has no room.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_DIRECT
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        raise Problem("no-direct-io", path=path.parent, error=error.strerror) from None
    block = mmap.mmap(-1, _BLOCK)
    try:
        for offset in range(0, size_bytes, _BLOCK):
            os.pwrite(handle, block, offset)
    except OSError as error:
        os.close(handle)
        raise Problem("path-error", path=path.parent, error=error.strerror) from None
    return handle


def measure_best(directory: Path, undo: Undo, seconds: float = 0.8) -> Best:
    """Measures the device under ``directory`` with direct writes to a file of ours.

    Half the time 1 MiB in order, half 4 KiB at random places of 128 MiB, one at a time. On a slow
    device the file stays as small as what half the time could write.
    """
    with undo.scope():
        scratch = undo.scratch_directory(directory, ".iowhy")
        block = mmap.mmap(-1, _BLOCK)
        handle = open_direct(scratch / "best", _BLOCK)
        try:
            began, done = time.monotonic(), 0
            while (spent := time.monotonic() - began) < seconds / 2 and done < 1 << 33:
                try:
                    done += os.pwrite(handle, block, done % _FILE_BYTES)
                except OSError as error:
                    raise Problem("path-error", path=directory, error=error.strerror) from None
            rate = done / spent if spent > 0 else 0.0
            size = min(done, _FILE_BYTES)
            places = random.Random(1)
            page = memoryview(block)[:4096]
            began, count = time.monotonic(), 0
            while (spent := time.monotonic() - began) < seconds / 2:
                os.pwrite(handle, page, places.randrange(size // 4096) * 4096)
                count += 1
            del page
        finally:
            os.close(handle)
    return Best(rate, count / spent)
