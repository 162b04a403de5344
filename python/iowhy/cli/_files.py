"""Files that commands write results to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from iowhy.errors import Problem
from iowhy.options.output import check_free


@contextmanager
def opened(path: Path, *, binary: bool, force: bool) -> Iterator[IO[Any]]:
    """A file to write to, new unless `force`. Raises Problem where it is in the way or cannot be written."""
    check_free(path, force)
    # "x": also what somebody else made since the check is not overwritten.
    mode = ("w" if force or path.exists() else "x") + ("b" if binary else "")
    encoding, newline = (None, None) if binary else ("utf-8", "")
    try:
        with path.open(mode, encoding=encoding, newline=newline) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Problem(f"{path}: cannot be written: {error.strerror or error}") from None
