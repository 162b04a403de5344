"""Only one process works in a folder of recordings: a lock that ends with its process, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.errors import Problem


@contextmanager
def alone_in(folder: Path, name: str, taken: str, number: bool = False) -> Iterator[None]:
    """Holds the file `name` of the folder, which is made if it is missing; with `number` it has this process's.

    Raises Problem: `taken`, where another process holds it; and where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / name).open("a+", encoding="utf-8")
    except OSError as error:
        raise Problem("cannot-be-written", path=folder, error=error.strerror or error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Problem("folder-taken", path=folder, taken=taken) from None
        if number:
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        yield


def holder(folder: Path, name: str) -> int | None:
    """The process whose number a held file `name` of a folder has; None if nobody holds it."""
    try:
        with (folder / name).open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return int(file.read())
    except (OSError, ValueError):
        pass
    return None
