"""Reading a file of a recording, which may come from anybody: plain files alone, and not more than expected."""

import os
import stat
from pathlib import Path

from iowhy.errors import Problem


def read_plain(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file.

    Raises Problem for a link, a device, a pipe or a directory (a pipe would be waited for without end, and a
    link leads elsewhere), for more than ``most_bytes``, and FileNotFoundError when it is not there.
    """
    try:
        # Without O_NONBLOCK the opening of a pipe would wait for its writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        why = "is a link" if path.is_symlink() else error.strerror
        raise Problem(f"{path}: {why}; a recording holds plain files only") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Problem(f"{path}: is no plain file; a recording holds plain files only")
    with os.fdopen(handle, "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise Problem(f"{path}: larger than {most_bytes:,} bytes; iowhy writes no such file")
    return data
