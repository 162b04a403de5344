"""Puts new rows in the place of a table's old ones: who reads the recording meanwhile sees either of them whole."""

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from iowhy.errors import Problem
from iowhy.recording.manifest import MANIFEST_MAX_BYTES
from iowhy.recording.plain_file import read_plain, write_whole
from iowhy.recording.recording import Recording
from iowhy.recording.writer import in_schema, write_rows

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def rewrite(recording: Recording, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes `rows` as the whole of a table that has rows already, for the recording's owner.

    Raises Problem where that cannot be: a packed recording, one that is still being written, no right to write.
    """
    folder = recording.path / table
    if recording.unpacked is not None:
        raise Problem(f"{recording.path}: is packed; unzip it first")
    if not recording.manifest.complete:
        raise Problem(
            f"{recording.path}: is still being recorded, or was cut off; it stays as it is"
        )
    written = in_schema(table, rows)
    assert written is not None, "a table without rows has no files"
    fresh = None
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{table}.", dir=recording.path))
        file = fresh / "000001.parquet"
        write_rows(written, file)
        _as_owned(folder, fresh, file)
        _exchange(fresh, folder)
        _count(recording.path / "manifest.json", table, len(written))
    except OSError as error:
        raise Problem(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)


def _as_owned(like: Path, *made: Path) -> None:
    """Root gives what it made to whom the recording belongs."""
    owner = like.stat()
    for path in made:
        if os.geteuid() == 0:
            os.chown(path, owner.st_uid, owner.st_gid)


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
    owner = manifest.stat()
    text = json.dumps(loaded, indent=1, ensure_ascii=False) + "\n"
    write_whole(manifest, text.encode(), owner.st_mode & 0o777)
    _as_owned(manifest.parent, manifest)
