"""Where recordings are: folders, patterns, trees of `date=…/host=…`, single recordings and packed ones."""

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from iowhy.errors import Problem
from iowhy.hung_filesystem import must_answer
from iowhy.recordings.day_packs import INDEX, in_day_pack, is_day_pack, names
from iowhy.recordings.days import PACK_SUFFIX
from iowhy.recordings.manifest import MANIFEST
from iowhy.recordings.object_store import below, copied, is_stored, path_of
from iowhy.recordings.packed import SUFFIX

#: Recordings that are looked for, and how deep below a folder: more is no fleet's folder, but a filesystem.
MOST_RECORDINGS, MOST_DEPTH = 1_000_000, 12


def places(where: Sequence[str]) -> list[Path]:
    """The recordings that the words name, each once, in the order of their paths.

    A folder gives all recordings below it; links in it are not followed. Raises Problem for a word that names none.
    """
    found: dict[Path, None] = {}
    for word in where:
        if not is_stored(Path(word)):
            must_answer(Path(word))
        seen = 0
        for path in _named(word):
            found.setdefault(path)
            seen += 1
            if len(found) > MOST_RECORDINGS:
                raise Problem("too-many-recordings", word=word, most_recordings=MOST_RECORDINGS)
        if not seen:
            raise _named_nothing(word)
    return sorted(_with_those_of_packs(found))


def _with_those_of_packs(found: Iterable[Path]) -> Iterator[Path]:
    """The recordings of packs instead of their packs."""
    packs = []
    for path in found:
        if is_day_pack(path):
            packs.append(path)
        elif is_stored(path) and path.name.endswith(PACK_SUFFIX):
            yield from _names_of_stored(path)
        else:
            yield path
    try:
        known = names(packs)
    except Problem:
        known = {}
        for pack in packs:
            try:
                known |= names([pack])
            except Problem:
                yield pack  # whoever opens it says what is wrong
    for pack, own in known.items():
        yield from (pack / name for name in own)


def _named(word: str) -> Iterator[Path]:
    if word.startswith("s3://"):
        yield from _stored(path_of(word))
        return
    path = Path(word)
    if in_day_pack(path):
        yield path
        return
    if path.exists():
        yield from _below(path)
        return
    for match in glob.iglob(word, recursive=True):  # noqa: PTH207  # Path.glob takes no absolute pattern
        yield from _below(Path(match))


def _stored(place: Path) -> Iterator[Path]:
    """What an object store has below a prefix, as it is found below a folder; or the one recording of that name."""
    if in_day_pack(place):
        yield place
        return
    keys = [one.path for one in below(place)]
    packs = {
        key.parent for key in keys if key.name == INDEX and key.parent.name.endswith(PACK_SUFFIX)
    }
    whole = {key.parent for key in keys if key.name == MANIFEST}
    whole |= {key for key in keys if key.name.endswith(f".iowhy{SUFFIX}")}
    if not keys and place.name.endswith(SUFFIX):
        whole.add(place)
    for path in packs | whole:
        parts = path.relative_to(place).parts
        if not any(one.startswith(".") or one.endswith((".part", ".tmp")) for one in parts):
            yield path


def _names_of_stored(pack: Path) -> Iterator[Path]:
    """The recordings of a pack in an object store, of which the index alone is copied; the pack where that cannot be read."""
    try:
        index = copied(pack / INDEX)
        for _, own in names([index.parent]).items():
            yield from (pack / name for name in own)
    except Problem:
        yield pack


def _below(path: Path) -> Iterator[Path]:
    if path.is_file() or is_day_pack(path) or (path / MANIFEST).is_file():
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
        raise Problem("path-error", path=folder, error=error.strerror or error) from None
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith((".part", ".tmp")):
            continue  # under way
        if entry.is_dir(follow_symlinks=False):
            below = Path(entry.path)
            if entry.name.endswith(PACK_SUFFIX):
                if is_day_pack(below):
                    yield below
            elif _is_plain(below / MANIFEST):
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


def _named_nothing(word: str) -> Problem:
    if any(sign in word for sign in "*?[") and not Path(word).exists():
        return Problem("nothing-has-such-a-name", word=word)
    if Path(word).is_dir():
        return Problem("folder-without-recordings", word=word)
    return Problem("no-such-recording-or-folder", word=word)
