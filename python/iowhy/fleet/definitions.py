"""By what a verdict that was kept is found again: its recording, and the definitions by which it was made."""

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.package_files import package_folder
from iowhy.recordings import Recording
from iowhy.recordings.manifest import MANIFEST
from iowhy.recordings.schema import tables
from iowhy.version import VERSION

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_DEFINING = (".sql", ".py", ".toml")


def fingerprint(recording: Recording, packages: Sequence[str]) -> str | None:
    """A digest of its manifest, the names, sizes and times of its files, and the definitions in `packages`.

    None where the recording cannot be read.
    """
    try:
        parts = [(recording.folder / MANIFEST).read_bytes()]
        for name in tables():
            for file in recording.files(name):
                now = file.stat()
                parts.append(f"{name}/{file.name} {now.st_size} {now.st_mtime_ns}\n".encode())
    except OSError:
        return None
    return digest_of(packages, *parts)


def digest_of(packages: Sequence[str], *parts: bytes) -> str:
    """Of what a recording is (`parts`), with the definitions in `packages`."""
    whole = sha256(_definitions(tuple(packages)).encode())
    for part in parts:
        whole.update(part)
    return whole.hexdigest()[:40]


@cache
def _definitions(packages: tuple[str, ...]) -> str:
    whole = sha256(VERSION.encode())
    for package in packages:
        for file in _files(package_folder(package)):
            whole.update(file.name.encode())
            whole.update(file.read_bytes())
    return whole.hexdigest()


def _files(folder: "Path | Traversable") -> "Iterator[Path | Traversable]":
    """Those that define something, in its folders too."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(_DEFINING):
            yield entry
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _files(entry)
