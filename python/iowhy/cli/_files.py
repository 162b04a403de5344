"""Files and folders that commands write results to: whole, or not at all."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from iowhy.errors import Problem
from iowhy.options.output import check_free


@contextmanager
def opened(path: Path, *, binary: bool, force: bool) -> Iterator[IO[Any]]:
    """A file to write to, new unless `force`; it takes its name when the block ends well.

    What breaks off leaves nothing, and what was there stays. What is no plain file (a device, a pipe) is written as it
    is. Raises Problem where it is in the way or cannot be written.
    """
    check_free(path, force)
    encoding, newline = (None, None) if binary else ("utf-8", "")
    whole = not path.exists() or path.is_file()
    fresh = _beside(path) if whole else path
    try:
        with fresh.open(
            ("x" if whole else "w") + ("b" if binary else ""), encoding=encoding, newline=newline
        ) as file:
            yield file
        if whole:
            _take_name(fresh, path, force)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Problem(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if whole:
            fresh.unlink(missing_ok=True)


@contextmanager
def opened_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write files to, which takes its name when the block ends well; else nothing is left of it.

    `force`: a folder of that name is removed first where it holds files alone whose suffix is that of the new ones.
    Raises Problem as `opened`.
    """
    if path.exists() and not force:
        raise Problem(f"{path}: exists already; --force overwrites it, or choose another name")
    if not path.absolute().parent.is_dir():
        raise Problem(f"{path}: its directory does not exist")
    fresh = _beside(path)
    try:
        fresh.mkdir()
        yield fresh
        if path.exists():
            _remove_earlier(path, {file.suffix for file in fresh.iterdir()})
        fresh.rename(path)
    except OSError as error:
        raise Problem(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _remove_earlier(path: Path, suffixes: set[str]) -> None:
    if path.is_symlink() or not path.is_dir():
        raise Problem(f"{path}: is no folder; --force replaces an earlier export alone")
    for file in path.iterdir():
        if file.suffix not in suffixes or not file.is_file() or file.is_symlink():
            raise Problem(f"{path}: holds {file.name}, which no export wrote; remove it yourself")
    shutil.rmtree(path)


def _beside(path: Path) -> Path:
    """A hidden name in the folder of the file that `path` is, or is a link to."""
    real = path.resolve()
    return real.with_name(f".{os.urandom(8).hex()}{real.suffix}")


def _take_name(fresh: Path, path: Path, force: bool) -> None:
    if force:
        if path.exists():
            fresh.chmod(stat.S_IMODE(path.stat().st_mode))
        fresh.replace(path.resolve())
        return
    try:
        # Also what somebody else made since the check is not overwritten.
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:  # filesystems without links
        check_free(path, force)
        fresh.rename(path)
