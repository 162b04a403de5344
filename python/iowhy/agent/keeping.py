"""What is kept: whole recordings in `date=YYYY-MM-DD/host=NAME/`, the newest, within bounds of bytes and age.

What is being made lies in `.open/` and moves over when it is whole (agent/src/folder.rs). What goes away is first given another
name, so that nobody finds half of it.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path

from iowhy.data_class import dataclass
from iowhy.recording.free_name import free_name

OPEN = ".open"
GONE = ".gone"
SUFFIX = ".iowhy"
_OPEN_NAME = re.compile(r"(\d{4}-\d\d-\d\d)_([A-Za-z0-9.-]+)_(\d{6}-[a-z0-9-]+)\.iowhy\Z")


@dataclass(frozen=True)
class Kept:
    """A recording, its size, and when it was last written to (seconds since 1970)."""

    path: Path
    bytes: int
    written_s: float = field(compare=False)


def kept(directory: Path) -> list[Kept]:
    """The recordings, the oldest first: by the day and time of their names, which no copy changes."""
    found = [_measured(path) for path in directory.glob(f"date=*/host=*/*{SUFFIX}")]
    return sorted(found, key=lambda one: (one.path.parts[-3], one.path.name))


def open_bytes(directory: Path) -> int:
    """What is being made takes so much now."""
    return sum(_size(path) for path in (directory / OPEN).glob("*"))


def prune(directory: Path, most_bytes: int, most_ns: int, now_s: float) -> list[Path]:
    """Takes away the oldest recordings until the others, with what is being made, fit, and those that are too old.
    Gives their paths."""
    _empty(directory)
    all_, gone = kept(directory), []
    bytes_ = open_bytes(directory) + sum(one.bytes for one in all_)
    for one in all_:
        too_old = now_s - one.written_s > most_ns / 1e9
        if bytes_ <= most_bytes and not too_old:
            continue
        if _take_away(directory, one.path):
            gone.append(one.path)
            bytes_ -= one.bytes
    return gone


def recover(directory: Path) -> list[Path]:
    """Moves what an agent that was killed left in `.open` to where it belongs; gives the new paths. What nobody can read (no manifest
    was written yet) is taken away."""
    _empty(directory)
    moved = []
    for path in sorted((directory / OPEN).glob(f"*{SUFFIX}")):
        named = _OPEN_NAME.match(path.name)
        if named is None or not (path / "manifest.json").exists():
            _take_away(directory, path)
            continue
        moved.append(close(directory, path))
    return moved


def begin(directory: Path, host: str, what: str, at: datetime) -> Path:
    """A path in `.open` for a recording that begins now."""
    folder = directory / OPEN
    folder.mkdir(parents=True, exist_ok=True)
    at = at.astimezone(UTC)
    host = re.sub(r"[^A-Za-z0-9.-]", "-", host).lstrip(".") or "unknown"
    return free_name(folder, f"{at:%Y-%m-%d}_{host}_{at:%H%M%S}-{what}")


def close(directory: Path, path: Path) -> Path:
    """Moves a recording from `.open` to where it belongs, and gives its path there."""
    named = _OPEN_NAME.match(path.name)
    assert named is not None, path
    folder = directory / f"date={named[1]}" / f"host={named[2]}"
    folder.mkdir(parents=True, exist_ok=True)
    return path.rename(free_name(folder, named[3]))


def _measured(path: Path) -> Kept:
    return Kept(path, _size(path), _written_s(path))


def _written_s(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _size(path: Path) -> int:
    """Of all files below it, as the disk has them; what is gone meanwhile takes nothing."""
    return sum(_blocks(one) for one in _below(path))


def _below(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            yield from path.rglob("*")


def _blocks(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_blocks * 512
    return 0


def _take_away(directory: Path, path: Path) -> bool:
    """Out of sight at once, then for good."""
    folder = directory / GONE
    try:
        folder.mkdir(exist_ok=True)
        path.rename(free_name(folder, path.stem))
    except OSError:
        return False
    if path.parent.name != OPEN:
        with suppress(OSError):
            path.parent.rmdir()  # the last of its host, then of its day
            path.parent.parent.rmdir()
    _empty(directory)
    return True


def _empty(directory: Path) -> None:
    shutil.rmtree(directory / GONE, ignore_errors=True)
