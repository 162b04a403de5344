"""Where recordings lie: folders, patterns, trees of `date=…/host=…`, single recordings and packed ones."""

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from iowhy.errors import Problem
from iowhy.recording.packed import SUFFIX

MANIFEST = "manifest.json"
#: Recordings that are looked for, and how deep below a folder: more is no fleet's folder, but a filesystem.
MOST_RECORDINGS, MOST_DEPTH = 1_000_000, 12


def places(where: Sequence[str]) -> list[Path]:
    """The recordings that the words name, each once, in the order of their paths.

    A folder gives all recordings below it; links in it are not followed. Raises Problem for a word that names none.
    """
    found: dict[Path, None] = {}
    for word in where:
        seen = 0
        for path in _named(word):
            found.setdefault(path)
            seen += 1
            if len(found) > MOST_RECORDINGS:
                raise Problem(f"{word}: more than {MOST_RECORDINGS:,} recordings")
        if not seen:
            raise Problem(f"{word}: {_why_none(word)}")
    return sorted(found)


def _named(word: str) -> Iterator[Path]:
    if word.startswith("s3://"):
        raise Problem(f"{word}: an object store is read by --spark only; or mount or copy it")
    path = Path(word)
    if path.exists():
        yield from _below(path)
        return
    for match in glob.iglob(word, recursive=True):  # noqa: PTH207  # Path.glob takes no absolute pattern
        yield from _below(Path(match))


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if (path / MANIFEST).is_file():
        yield path
        return
    yield from _walk(path, 0)


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """The recordings below a folder: directories with a manifest, and files that `iowhy pack` made."""
    if depth > MOST_DEPTH:
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise Problem(f"{folder}: {error.strerror or error}") from None
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith((".part", ".tmp")):
            continue  # under way
        if entry.is_dir(follow_symlinks=False):
            below = Path(entry.path)
            if _is_plain(below / MANIFEST):
                yield below
            elif not entry.name.endswith(".iowhy"):
                yield from _walk(below, depth + 1)
        elif entry.name.endswith(f".iowhy{SUFFIX}") and entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _why_none(word: str) -> str:
    if any(sign in word for sign in "*?[") and not Path(word).exists():
        return "nothing has such a name"
    if Path(word).is_dir():
        return "no recording lies below it"
    return "no such recording or folder"
