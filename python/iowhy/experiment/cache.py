"""The page cache of the command's own files, brought to a known state before each trial."""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from iowhy.errors import Problem

STATES = ("as-is", "cold", "warm", "cold-machine")
_MANY = 200_000


def files_below(directory: Path, extra: Sequence[Path] = ()) -> list[Path]:
    """Regular files below a directory on its own filesystem, and those named besides."""
    found = [path for path in extra if path.is_file() and not path.is_symlink()]
    for path in _walk(directory, directory.stat().st_dev):
        found.append(path)
        if len(found) > _MANY:
            raise Problem(
                f"{directory}: more than {_MANY:,} files; name a smaller --work-directory for what "
                "the command reads and writes"
            )
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


def total_bytes(files: Sequence[Path]) -> int:
    """Bytes that the files have allocated, so that holes count nothing."""
    total = 0
    for path in files:
        with contextlib.suppress(OSError):
            total += path.lstat().st_blocks * 512
    return total


def available_bytes() -> int:
    """Memory that can be had without swapping (MemAvailable of proc_meminfo(5))."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def set_state(state: str, directory: Path, extra: Sequence[Path] = ()) -> None:
    """Brings the cache to a state of :data:`STATES`.

    ``cold`` writes back and drops only the files below the directory (posix_fadvise(2)), so that nobody
    else is slowed; ``cold-machine`` drops all clean caches, directories and inodes too (needs root).
    """
    if state == "as-is":
        return
    if state == "cold-machine":
        os.sync()
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3")
        except OSError as error:
            raise Problem(
                f"--cache cold-machine: {error.strerror}: needs root; --cache cold drops the files "
                "below the work directory and needs no rights"
            ) from None
        return
    for path in files_below(directory, extra):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if state == "cold":
                # Dirty pages cannot be dropped.
                os.fsync(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                while os.read(handle, 4 << 20):
                    pass
        except OSError:
            continue
        finally:
            os.close(handle)
