"""A copy of the work directory that the command sees in place of the original.

As root it is mounted over the original in the command's own mount namespace, so that absolute paths
reach it too; otherwise the command only runs inside it.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments.cache import files_below
from iowhy.experiments.command import Place, run
from iowhy.experiments.extents import extent_count
from iowhy.experiments.in_child import mount_over
from iowhy.experiments.lever import Effect
from iowhy.experiments.setting import Setting
from iowhy.recordings.allocated import allocated_bytes
from iowhy.recordings.plain_file import synced
from iowhy.users import is_everything


def refusal(setting: Setting, parent: Path, free_share: float = 0.8) -> str | None:
    """Why no copy can be made below ``parent``, or None."""
    if is_everything(setting.directory):
        return (
            f"copies the work directory, and {setting.directory} is too much: name a smaller one, in which "
            "the data are, with --data-directory"
        )
    if os.geteuid() != 0 and setting.runs_in not in (None, setting.directory):
        return f"needs root to put a copy instead of {setting.directory}, where it does not run"
    if not os.access(parent, os.W_OK):
        return f"may not write to {parent}"
    wanted = allocated_bytes(files_below(setting.directory))
    free = shutil.disk_usage(parent).free
    if wanted > free * free_share:
        return (
            f"the work directory's {wanted >> 20} MiB do not fit into {parent} ({free >> 20} MiB)"
        )
    return None


def sibling(setting: Setting) -> Path | None:
    """Where a copy is on the same filesystem as the work directory; None if nowhere.

    Next to it; inside of it (hidden, and not copied itself) if it is the root of its filesystem.
    """
    for parent in (setting.directory.parent, setting.directory):
        same = parent.stat().st_dev == setting.directory.stat().st_dev
        if same and os.access(parent, os.W_OK):
            return parent
    return None


@contextmanager
def copied(setting: Setting, parent: Path, *, preallocated: bool = False) -> Iterator[Effect]:
    """Runs a trial on a copy below ``parent``, which is removed afterwards."""
    with setting.undo.scope():
        scratch = setting.undo.scratch_directory(parent, ".iowhy")
        place = scratch / setting.directory.name
        place.mkdir()
        shutil.copystat(setting.directory, place)
        _own_alike(place, setting.directory.stat())
        entries = [str(one) for one in setting.directory.iterdir() if one != scratch]
        if entries:
            _copy(setting, entries, place)
        if preallocated:
            # Room of files that were removed is free once the journal has that (ext4_process_freed_data in fs/ext4/mballoc.c).
            synced(place)
            for path in files_below(place):
                rewrite(path)
        if os.geteuid() == 0:
            yield Effect(everywhere=(mount_over(place, setting.directory),), files_at=place)
        else:
            yield Effect(directory=place, files_at=place)


def _own_alike(path: Path, found: os.stat_result) -> None:
    # Without root a group that is not ours cannot be given; the command, run by us, needs none.
    with contextlib.suppress(PermissionError):
        os.chown(path, found.st_uid, found.st_gid)


def _copy(setting: Setting, entries: list[str], place: Path) -> None:
    # Reflinks would share the blocks, and with them the original's layout.
    arguments = ["cp", "-a", "--reflink=never", "--sparse=always", "-t", str(place)]
    for start in range(0, len(entries), 1000):
        # Dies with us, unlike a plain child: it must not go on copying into what is being removed.
        command = [*arguments, "--", *entries[start : start + 1000]]
        done = run(command, Place(setting.directory), setting.undo, capture=True)
        if done.status != 0:
            raise Problem("copy-failed", place=place, output=done.output.strip()[-500:])


def pieces(directory: Path) -> int | None:
    """Extents of all files below a directory; None on a filesystem that does not say."""
    total = 0
    for path in files_below(directory):
        try:
            with path.open("rb") as file:
                total += extent_count(file.fileno())
        except PermissionError:
            continue
        except OSError:
            return None
    return total


def rewrite(path: Path) -> None:
    """Writes a file again, in order, into blocks allocated before: as contiguous as space allows."""
    found = path.stat()
    if found.st_size == 0:
        return
    fresh = path.with_name(f".{path.name[:100]}.iowhy-new")
    with path.open("rb") as source, fresh.open("wb") as target:
        os.posix_fallocate(target.fileno(), 0, found.st_size)
        shutil.copyfileobj(source, target, 4 << 20)
        target.flush()
        os.fsync(target.fileno())
    shutil.copystat(path, fresh)
    _own_alike(fresh, found)
    fresh.replace(path)
