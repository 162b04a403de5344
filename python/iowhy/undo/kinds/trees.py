"""Directories of ours that were made on disk."""

import os
import shutil
import stat
from pathlib import Path

from iowhy.mounts import mount_points
from iowhy.undo.kinds.entry import (
    SYSTEM_DIRECTORIES,
    Entry,
    Failed,
    Kind,
    Refused,
    path_of,
    text_of,
)

MARKER_FILE = ".iowhy-scratch"
"""A directory is only ever removed when this file in it holds the token of the journal's entry."""


def _check_tree(entry: Entry) -> None:
    if path_of(entry, "path") in SYSTEM_DIRECTORIES:
        raise Refused(f"{entry['path']} belongs to the system")
    text_of(entry, "token", r"[0-9a-f]{32}")


def _undo_tree(entry: Entry) -> None:
    top = Path(entry["path"])
    try:
        # Held open: whoever may rename it or put a link in its place does not send us elsewhere.
        handle = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # gone, or no directory any more
    try:
        inside = [point for point in mount_points() if point == str(top) or _is_below(point, top)]
        if inside:
            raise Failed(f"remove {top}: {inside[-1]} is still mounted")
        ours = _token(handle) == entry["token"]
        if ours:
            with os.scandir(handle) as entries:
                names = [entry.name for entry in entries]
            for name in names:
                if name != MARKER_FILE:
                    _remove(name, handle)
            os.unlink(MARKER_FILE, dir_fd=handle)
        # Made but not yet marked: it is empty, and rmdir removes nothing else.
        top.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        why = error.strerror if ours else f"it does not carry our {MARKER_FILE}"
        raise Failed(f"remove {top}: {why}") from error
    finally:
        os.close(handle)


def mark(top: Path, token: str) -> None:
    """Puts the marker into a directory that was just made, and not where a link in its place leads."""
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(MARKER_FILE, flags, 0o600, dir_fd=folder), "w") as marker:
            marker.write(token)
    finally:
        os.close(folder)


def _token(folder: int) -> str | None:
    """What the marker file in a directory holds, None if there is none."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(MARKER_FILE, flags, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as marker:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        return marker.read(64).decode(errors="replace") if regular else None


def _remove(name: str, folder: int) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def _is_below(path: str, top: Path) -> bool:
    return path.startswith(f"{top}/")


REMOVE_TREE = Kind(_check_tree, _undo_tree, survives_boot=True)
