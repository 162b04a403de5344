"""Filesystems that were mounted or remounted."""

import ctypes
import errno
import os
import re
import subprocess
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
    until,
)
from iowhy.undo.kinds.trees import MARKER_FILE

_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8  # include/linux/fs.h, umount2(2)
#: What tune puts back on any filesystem: the words of access times, and an interval of commits.
_HARMLESS = re.compile(r"atime,relatime|noatime|strictatime|commit=[0-9]{1,5}")
_libc = ctypes.CDLL(None, use_errno=True)


def _check_umount(entry: Entry) -> None:
    if path_of(entry, "path") in SYSTEM_DIRECTORIES:
        raise Refused(f"{entry['path']} belongs to the system")


def _undo_umount(entry: Entry) -> None:
    path = entry["path"]
    flags = _UMOUNT_NOFOLLOW

    def gone() -> bool:
        if path not in mount_points():
            return True
        if _libc.umount2(os.fsencode(path), flags) != 0:
            code = ctypes.get_errno()
            if code not in (errno.EBUSY, errno.EAGAIN, errno.EINVAL):
                raise Failed(f"umount {path}: {os.strerror(code)}")
        return path not in mount_points()

    if until(gone):
        return
    # Somebody still stands in it: take it out of the tree, the kernel drops it with its last user.
    flags = _UMOUNT_NOFOLLOW | _MNT_DETACH
    if not until(gone, 1.0):
        raise Failed(f"umount {path}: busy")


def opposite_option(option: str, now: tuple[str, ...]) -> str | None:
    """The mount option that takes ``option`` back, given those in force; None when not known."""
    key, equals, _ = option.partition("=")
    if not re.fullmatch(r"[a-z_]+(=[a-z0-9_]+)?", option):
        return None
    if equals:
        return next((old for old in now if old.startswith(f"{key}=")), None)
    if key in ("ro", "rw"):
        return None  # a filesystem that goes read-only under a command shows nothing
    plain = {"sync": "async", "async": "sync", "relatime": "relatime", "nodiscard": "discard"}
    return plain.get(key) or (key[2:] if key.startswith("no") else f"no{key}")


def _check_remount(entry: Entry) -> None:
    if _HARMLESS.fullmatch(str(entry.get("option"))):
        path_of(entry, "path")
        return
    _check_umount(entry)
    text_of(entry, "option", r"[a-z_]+(=[a-z0-9_]+)?")
    # One that is gone was perhaps ours; one that is there without our marker is somebody else's.
    ours = any((parent / MARKER_FILE).is_file() for parent in Path(entry["path"]).parents)
    if not ours and entry["path"] in mount_points():
        raise Refused(f"{entry['path']} is not a mount of ours")


def _undo_remount(entry: Entry) -> None:
    if entry["path"] in mount_points():
        remount(entry["path"], entry["option"])


def remount(path: str, option: str) -> None:
    """Changes one option of what is mounted there. Raises Failed."""
    done = subprocess.run(
        ["mount", "-o", f"remount,{option}", path], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Failed(f"remount {path} with {option}: {done.stderr.strip()}")


UMOUNT = Kind(_check_umount, _undo_umount)
REMOUNT = Kind(_check_remount, _undo_remount)
