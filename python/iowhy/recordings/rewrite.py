"""Puts new rows instead of a table's old ones: who reads the recording then sees either of them whole."""

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.recordings.manifest import MANIFEST_MAX_BYTES
from iowhy.recordings.object_store import is_stored
from iowhy.recordings.packer import pack
from iowhy.recordings.plain_file import read_plain
from iowhy.recordings.recording import Recording
from iowhy.recordings.writer import in_schema, write_rows
from iowhy.users import inside_as_owner
from iowhy.written_files import PRIVATE_FILE, write_whole

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def rewrite(recording: Recording, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes `rows` as the whole of a table that has rows already, for the recording's owner. A packed one is packed again.

    Raises Problem where that cannot be: one of a pack of many or in an object store, one that is still being written, no right
    to write.
    """
    if recording.unpacked is not None:
        _rewrite_packed(recording, recording.unpacked, table, rows)
        return
    folder = recording.path / table
    if not recording.manifest.complete:
        raise Problem("still-recording", path=recording.path)
    written = in_schema(table, rows)
    assert written is not None, "a table without rows has no files"
    try:
        # What is read for them is ours, so they are made with our rights, and copied with the owner's.
        with tempfile.TemporaryDirectory(prefix="iowhy-rows-") as own:
            file = Path(own) / "000001.parquet"
            write_rows(written, file)
            count = len(written)
            with file.open("rb") as source, inside_as_owner(recording.path) as inside:
                _replace(inside, table, source)
                _count(inside / "manifest.json", table, count)
    except OSError as error:
        raise Problem("cannot-be-written", path=folder, error=error.strerror or error) from None


def _replace(inside: Path, table: str, source: BinaryIO) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=f".{table}.", dir=inside))
    try:
        with made_private(fresh / "000001.parquet") as file:
            shutil.copyfileobj(source, file)
        _exchange(fresh, inside / table)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _rewrite_packed(
    recording: Recording, unpacked: Path, table: str, rows: Sequence[Mapping[str, object]]
) -> None:
    if is_stored(recording.path) or not recording.path.is_file():
        raise Problem("not-a-single-file", path=recording.path)
    rewrite(replace(recording, path=unpacked, unpacked=None), table, rows)
    made = pack(recording, unpacked.with_name(f"{unpacked.name}.again"), force=True).file
    to = recording.path.resolve()
    try:
        with made.open("rb") as source, inside_as_owner(to.parent) as inside:
            _put(source, inside / to.name)
    except OSError as error:
        raise Problem("cannot-be-written", path=to, error=error.strerror or error) from None
    finally:
        made.unlink()


def _put(source: BinaryIO, to: Path) -> None:
    """Puts a file instead of another, as whose and as readable as that was."""
    before = to.lstat()
    fresh = to.with_name(f".{to.name}.{os.urandom(4).hex()}")
    try:
        with made_private(fresh) as file:
            shutil.copyfileobj(source, file)
            with suppress(PermissionError):  # who is not root cannot give away what is not root's
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fchmod(file.fileno(), before.st_mode & 0o777)
        fresh.replace(to)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def made_private(path: Path) -> BinaryIO:
    """A file of our own that was not there, to write."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb")


def _exchange(one: Path, other: Path) -> None:
    """Two directories take each other's names at once (renameat2, Linux 3.15)."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _count(manifest: Path, table: str, rows: int) -> None:
    """The manifest's number of rows; all else in it stays, also what a newer iowhy wrote."""
    loaded = json.loads(read_plain(manifest, MANIFEST_MAX_BYTES))
    loaded.setdefault("tables", {}).setdefault(table, {"lost": 0})["kept"] = rows
    text = json.dumps(loaded, indent=1, ensure_ascii=False) + "\n"
    write_whole(manifest, text.encode(), manifest.stat().st_mode & 0o777)
