"""Packs a recording into one file, to send round (packed.py reads it)."""

import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.masking import masked, masked_json
from iowhy.recordings.experiments import EXPERIMENT_MAX_BYTES
from iowhy.recordings.manifest import MANIFEST, MANIFEST_MAX_BYTES
from iowhy.recordings.packed import MOST_FILE_BYTES, SUFFIX, copy_bytes
from iowhy.recordings.plain_file import open_plain
from iowhy.recordings.recording import Recording
from iowhy.written_files import opened

_TABLE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DAY = (1980, 1, 1, 0, 0, 0)  # the first that a ZIP knows: packs of the same are the same


class Packed(Struct, frozen=True):
    """What `pack` wrote."""

    file: Path
    files: int
    bytes: int


def pack(
    recording: Recording, to: Path, *, force: bool = False, keep_secrets: bool = True
) -> Packed:
    """Writes a recording as one file, which appears under its name when it is whole, for its owner alone.

    Raises Problem where that cannot be; `force`: a file that is there is replaced. Without `keep_secrets` the secrets in its
    command lines are masked.
    """
    files = 0
    with opened(to, binary=True, force=force) as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            # One that was packed before has the name that it had.
            folder = recording.path.resolve().name
            if recording.unpacked is not None:
                folder = folder.removesuffix(SUFFIX)
            for name, file, most in _contents(recording):
                _add(archive, f"{folder}/{name}", file, most, keep_secrets)
                files += 1
        out.flush()
        bytes_packed = os.fstat(out.fileno()).st_size
    return Packed(to, files, bytes_packed)


def _contents(recording: Recording) -> Iterator[tuple[str, Path, int]]:
    """The files of a recording, by their names in the pack, and how large each may be."""
    yield MANIFEST, recording.folder / MANIFEST, MANIFEST_MAX_BYTES
    # Also of a newer iowhy, which may have tables that this one does not know.
    for folder in sorted(recording.folder.iterdir()):
        if _TABLE.fullmatch(folder.name) is None or folder.name == "experiments":
            continue
        for number, file in enumerate(recording.files(folder.name), 1):
            yield f"{folder.name}/{number:06}.parquet", file, MOST_FILE_BYTES
    experiments = recording.folder / "experiments"
    if not experiments.is_symlink():
        # What is no plain file is no result either (experiments.py).
        plain = [one for one in sorted(experiments.glob("*.json")) if _is_plain(one)]
        for number, file in enumerate(plain, 1):
            yield f"experiments/{number:06}.json", file, EXPERIMENT_MAX_BYTES


def _is_plain(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def _add(
    archive: zipfile.ZipFile, name: str, file: Path, most_bytes: int, keep_secrets: bool
) -> None:
    entry = zipfile.ZipInfo(name, _DAY)
    entry.external_attr = 0o600 << 16
    with open_plain(file) as source:
        entry.file_size = os.fstat(source.fileno()).st_size
        if entry.file_size > most_bytes:
            raise Problem("recording-file-too-large", path=file, most_bytes=most_bytes)
        if not keep_secrets and file.suffix == ".json":
            archive.writestr(entry, without_secrets(source.read(entry.file_size)))
            return
        with archive.open(entry, "w") as target:
            # No more than there was: a recording may still grow.
            copy_bytes(source, target, entry.file_size, file)


def without_secrets(data: bytes) -> bytes:
    """A manifest, or a result: byte for byte the same if there is none."""
    try:
        loaded = json.loads(data)
        made = masked_json(loaded)
    except (ValueError, RecursionError):  # it is no result of ours
        return masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return (
        data if made == loaded else (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()
    )
