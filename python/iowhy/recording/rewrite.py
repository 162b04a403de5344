"""Puts new rows in the place of a table's old ones: who reads the recording meanwhile sees either of them whole."""

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from iowhy.errors import Problem
from iowhy.recording.manifest import MANIFEST_MAX_BYTES
from iowhy.recording.object_store import is_stored
from iowhy.recording.packer import pack
from iowhy.recording.plain_file import read_plain, write_whole
from iowhy.recording.recording import Recording
from iowhy.recording.writer import in_schema, write_rows

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def rewrite(recording: Recording, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes `rows` as the whole of a table that has rows already, for the recording's owner. A packed one is packed anew.

    Raises Problem where that cannot be: one of a pack of many or in an object store, one that is still being written, no right
    to write.
    """
    if recording.unpacked is not None:
        _rewrite_packed(recording, recording.unpacked, table, rows)
        return
    folder = recording.path / table
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
        _as_owned(folder.stat(), fresh, file)
        _exchange(fresh, folder)
        _count(recording.path / "manifest.json", table, len(written))
    except OSError as error:
        raise Problem(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)


def _rewrite_packed(
    recording: Recording, unpacked: Path, table: str, rows: Sequence[Mapping[str, object]]
) -> None:
    if is_stored(recording.path) or not recording.path.is_file():
        raise Problem(
            f"{recording.path}: is none of a file of its own; `iowhy pack` makes one of it"
        )
    owner = recording.path.stat()
    rewrite(replace(recording, path=unpacked, unpacked=None), table, rows)
    packed = pack(recording, recording.path).file
    packed.chmod(owner.st_mode & 0o777)
    _as_owned(owner, packed)


def _as_owned(owner: os.stat_result, *made: Path) -> None:
    """Root gives what it made to whom the recording belongs."""
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
    _as_owned(manifest.parent.stat(), manifest)
