"""Plain files of a recording, which may come from anybody: they are read with care."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from iowhy.errors import Problem


def open_plain(path: Path) -> BinaryIO:
    """A regular file, to read.

    Raises Problem for a link, a device, a pipe or a directory (a pipe would be waited for without end, and a
    link leads elsewhere), and FileNotFoundError when it is not there.
    """
    try:
        # Without O_NONBLOCK the opening of a pipe would wait for its writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        why = "is a link" if path.is_symlink() else error.strerror
        raise Problem("recording-holds-other-files", path=path, why=why) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Problem("not-a-plain-file", path=path)
    return os.fdopen(handle, "rb")


def read_plain(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file. Raises as open_plain, and Problem for more than ``most_bytes``."""
    with open_plain(path) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise Problem("recording-file-too-large", path=path, most_bytes=most_bytes)
    return data


def synced(path: Path) -> None:
    """Puts a file, or a folder's names, on the disk (fsync(2)). Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
