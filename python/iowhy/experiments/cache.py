"""The page cache of the command's own files, brought to a known state before each trial."""

import ctypes
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments.setting import Setting
from iowhy.users import is_everything

STATES = ("as-is", "cold", "warm", "cold-machine")
_MANY = 200_000
_libc = ctypes.CDLL(None, use_errno=True)
_WAIT_BEFORE, _WRITE, _WAIT_AFTER = 1, 2, 4  # include/uapi/linux/fs.h


def files_below(directory: Path) -> list[Path]:
    """Regular files below a directory on its own filesystem."""
    found = []
    for path in _walk(directory, directory.stat().st_dev):
        found.append(path)
        if len(found) > _MANY:
            raise Problem("too-many-files-to-drop", path=directory, many=_MANY)
    return found


def _walk(directory: Path, device: int) -> Iterator[Path]:
    pending = [directory]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if found.st_dev != device:
                continue
            if stat.S_ISDIR(found.st_mode):
                pending.append(Path(entry.path))
            elif stat.S_ISREG(found.st_mode):
                yield Path(entry.path)


def available_bytes() -> int:
    """Memory that can be had without swapping (MemAvailable of proc_meminfo(5))."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def files_of(setting: Setting, copy: Path | None = None) -> list[Path]:
    """What is warmed or dropped: the files below the work directory or its copy, and those that the command is known to use.

    Of the root or a home directory only the latter, if there are any.
    """
    if copy is not None:
        return files_below(copy)
    # What only looks like a file (/proc, /sys) has no blocks, and nothing of it is cached.
    known = [
        path
        for path in setting.files
        if path.is_file() and not path.is_symlink() and path.stat().st_blocks
    ]
    if known and is_everything(setting.directory):
        return known
    return list(dict.fromkeys([*files_below(setting.directory), *known]))


def set_state(state: str, files: Sequence[Path]) -> None:
    """Brings the cache to a state of :data:`STATES`.

    ``cold`` writes back and drops only these files (posix_fadvise(2)), so that nobody else is slowed; ``cold-machine`` drops all clean caches, directories and inodes too (needs root).
    """
    if state == "as-is":
        return
    if state == "cold-machine":
        os.sync()
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3")
        except OSError as error:
            raise Problem("cache-cold-machine-needs-root", error=error.strerror) from None
        return
    for path in files:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if state == "cold":
                _write_out(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                while os.read(handle, 4 << 20):
                    pass
        except OSError:
            continue
        finally:
            os.close(handle)


def _write_out(handle: int) -> None:
    """Dirty pages cannot be dropped. A sync of each file would flush the disk for each, which takes longer than most commands."""
    pages = ctypes.c_int64(0)
    # Twice: btrfs hands what it compresses to others first, and writes it then.
    for _ in range(2):
        if _libc.sync_file_range(handle, pages, pages, _WAIT_BEFORE | _WRITE | _WAIT_AFTER):
            os.fsync(handle)
