"""Files and folders that results are put into: one way for all commands, whole or not at all.

They are their user's alone, like recordings. A link that has the name is never written through: a folder that others
write in may hold one that leads to any file of root's.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from iowhy.errors import Problem
from iowhy.users import invoking_user

#: As the recorder makes them (store/src/folder.rs): what a text tells of a machine is its user's, too.
PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600
#: Of what a CI's other users read, as the umask leaves it.
SHARED_FILE = 0o666

#: The names of streams: a link there leads to what the caller opened.
_STREAMS = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


def check_free(path: Path, force: bool) -> None:
    """Raises Problem where a file must not or cannot be written: it exists, or its folder does not."""
    if path.is_dir():
        raise Problem("directory-not-file", path=path)
    # What is no file, as /dev/null or a pipe, loses nothing.
    if not force and not _is_stream(path) and (path.is_file() or path.is_symlink()):
        raise Problem("file-exists", path=path)
    if not path.absolute().parent.is_dir():
        raise Problem("no-directory", path=path, parent=path.absolute().parent)


@contextmanager
def opened(path: Path, *, binary: bool, force: bool, mode: int = PRIVATE_FILE) -> Iterator[IO[Any]]:
    """A file to write to, new unless `force`; it takes its name when the block ends well.

    What breaks off leaves nothing, and what was there stays; a link is replaced, not followed. What is not a plain file (a
    terminal, a pipe) is written as it is. Raises Problem if it is in the way or cannot be written.
    """
    check_free(path, force)
    try:
        if _is_stream(path):
            with _as_text(_open_stream(path), binary) as file:
                yield file
            return
        with _fresh(path, mode) as (fresh, made), _as_text(made, binary) as file:
            yield file
            file.flush()
            _take_name(fresh, path, force)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Problem("cannot-be-written", path=path, error=_why(error)) from None


def _why(error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    way_out = "; free some space, or choose another place" if full else ""
    return f"{error.strerror or error}{way_out}"


def put(path: Path, text: str, *, force: bool, mode: int = PRIVATE_FILE) -> None:
    """Writes a text as the whole of a file. Raises Problem as `opened`."""
    with opened(path, binary=True, force=force, mode=mode) as file:
        file.write(text.encode())


@contextmanager
def opened_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write files to, which takes its name when the block ends well; else nothing is left of it.

    `force`: a folder of that name is removed first where it holds files alone whose suffix is that of the new ones.
    Raises Problem as `opened`.
    """
    if os.path.lexists(path) and not force:
        raise Problem("file-exists", path=path)
    if not path.absolute().parent.is_dir():
        raise Problem("no-directory", path=path, parent=path.absolute().parent)
    fresh = _beside(path)
    try:
        fresh.mkdir(PRIVATE_DIRECTORY)
        yield fresh
        for file in fresh.iterdir():
            _make_private(file, PRIVATE_FILE)
        _make_private(fresh, PRIVATE_DIRECTORY)
        if os.path.lexists(path):
            _remove_earlier(path, {file.suffix for file in fresh.iterdir()})
        fresh.rename(path)
    except OSError as error:
        raise Problem("cannot-be-written", path=path, error=_why(error)) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def write_whole(path: Path, data: bytes, mode: int = PRIVATE_FILE) -> None:
    """Writes a file of our own whole or not at all; who reads it before that sees the old one. Raises OSError."""
    with _fresh(path, mode) as (fresh, file):
        file.write(data)
        file.close()
        fresh.replace(path)


@contextmanager
def _fresh(path: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file next to `path`, under a name that nobody knows; it is gone at the end unless it took another."""
    fresh = _beside(path)
    file = os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")
    try:
        with file:
            _give(file.fileno())
            yield fresh, file
    finally:
        fresh.unlink(missing_ok=True)


def _make_private(made: Path, mode: int) -> None:
    """By its descriptor: a process in the reader's box may not do it by name."""
    descriptor = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, mode)
        _give(descriptor)
    finally:
        os.close(descriptor)


def _give(made: int) -> None:
    """Through sudo it is the user's who called it."""
    owner = invoking_user()
    if owner is not None:
        with suppress(OSError):  # filesystems without owners, and those that root may not change
            os.chown(made, owner.uid, owner.gid)


def _remove_earlier(path: Path, suffixes: set[str]) -> None:
    if path.is_symlink() or not path.is_dir():
        raise Problem("export-not-a-folder", path=path)
    for file in path.iterdir():
        if file.suffix not in suffixes or not file.is_file() or file.is_symlink():
            raise Problem("folder-of-others-files", path=path, name=file.name)
    shutil.rmtree(path)


def _beside(path: Path) -> Path:
    return path.with_name(f".{os.urandom(8).hex()}")


def _take_name(fresh: Path, path: Path, force: bool) -> None:
    if force:
        with suppress(FileNotFoundError):
            before = path.lstat()
            # How readable it is, its user has chosen; not who else put a file there.
            if stat.S_ISREG(before.st_mode) and before.st_uid == fresh.stat().st_uid:
                # By its descriptor: a process in the reader's box may not do it by name.
                with fresh.open("rb") as file:
                    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        fresh.replace(path)
        return
    try:
        # Also what somebody else made since the check is not overwritten.
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:  # filesystems without links
        check_free(path, force)
        fresh.rename(path)


def _as_text(file: BinaryIO, binary: bool) -> IO[Any]:
    import io

    return file if binary else io.TextIOWrapper(file, encoding="utf-8", newline="")


def _is_stream(path: Path) -> bool:
    """Whether it is written as it is: a terminal, a pipe, /dev/stdout.

    Raises Problem for a disk, for a pipe that somebody else made, and where a link leads to something of the kind.
    """
    if path.absolute().parent in _STREAMS and path.exists() and not path.is_block_device():
        return True
    try:
        found = path.lstat()
    except OSError:
        return False
    if stat.S_ISLNK(found.st_mode):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise Problem("name-is-a-link", path=path, typed=path.resolve())
        return False
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return False
    if stat.S_ISBLK(found.st_mode):
        raise Problem("would-overwrite-a-disk", path=path)
    caller = invoking_user()
    if found.st_uid not in {0, os.geteuid(), caller.uid if caller else 0}:
        raise Problem("file-of-another-user", path=path)
    return True


def _open_stream(path: Path) -> BinaryIO:
    follow = 0 if path.absolute().parent in _STREAMS else os.O_NOFOLLOW
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC | follow), "wb")
