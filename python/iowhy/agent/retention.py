"""What is kept: whole recordings in `date=YYYY-MM-DD/host=NAME/`, the newest, within bounds of bytes and age.

What is being made is in `.open/` as WHAT.NUMBER.iowhy, and moves over when it is whole: the day, the host and the time of its new
name are those of its manifest. What goes away is first given another name, so that nobody finds half of it.
"""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.free_name import free_name
from iowhy.recordings.allocated import allocated_bytes
from iowhy.recordings.days import day_folder
from iowhy.recordings.manifest import MANIFEST, read_manifest

OPEN = ".open"
GONE = ".gone"
SUFFIX = ".iowhy"
WRITERS = ".writers"
#: The last day that a name can have: 9999-12-31.
_LAST_S = 253402214400


class Kept(Struct, frozen=True):
    """A recording, its size, and when it was last written to (seconds since 1970)."""

    path: Path
    bytes: int
    written_s: float


def kept(directory: Path, known: dict[Path, Kept] | None = None) -> list[Kept]:
    """The recordings, the oldest first: by the day and time of their names, which no copy changes. `known`: those that were measured before,
    which are whole and change no more (a week of hours has thousands of files, which are not all asked at each interval); it has these afterwards."""
    before = {} if known is None else dict(known)
    found = [_measured(path, before) for path in directory.glob(f"date=*/host=*/*{SUFFIX}")]
    if known is not None:
        known.clear()
        known |= {one.path: one for one in found}
    return sorted(found, key=lambda one: (one.path.parts[-3], one.path.name))


def open_bytes(directory: Path) -> int:
    """What is being made takes so much now."""
    return sum(_size(path) for path in (directory / OPEN).glob("*"))


def prune(
    directory: Path,
    most_bytes: int,
    most_ns: int,
    now_s: float,
    last: Callable[[Path], bool] = lambda _: False,
    today: str = "9999-12-31",
    known: dict[Path, Kept] | None = None,
) -> list[Path]:
    """Takes away the oldest recordings until the others, with what is being made, fit, and those that are too old.
    Gives their paths. `last`: those that only go when all others have. Those of days after `today` (a clock that was set back)
    count as the oldest: else what is recorded now would make room for them. `known` as in `kept`."""
    _empty(directory)
    all_, gone = kept(directory, known), []
    bytes_ = open_bytes(directory) + sum(one.bytes for one in all_)
    order = sorted(all_, key=lambda one: (last(one.path), one.path.parts[-3] <= f"date={today}"))
    for one in order:
        too_old = now_s - one.written_s > most_ns / 1e9
        if bytes_ <= most_bytes and not too_old:
            continue
        if _take_away(directory, one.path):
            gone.append(one.path)
            bytes_ -= one.bytes
    return gone


@contextmanager
def writing(directory: Path, patience_s: float) -> Iterator[int | None]:
    """A file that everybody inherits who writes recordings here, held as long as one of them lives. Waits for those of an agent that was
    killed; None: they do not end, and what they make must stay in place."""
    (directory / OPEN).mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + patience_s
    with (directory / WRITERS).open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    yield None
                    return
            time.sleep(0.1)
        yield file.fileno()


def recover(directory: Path) -> list[Path]:
    """Moves what is in `.open` and nobody makes any more to where it belongs; gives the new paths. What nobody can read (no
    manifest was written yet) is taken away."""
    _empty(directory)
    moved = []
    for path in sorted((directory / OPEN).glob("*")):
        if (path / MANIFEST).exists():
            moved.append(close(directory, path))
        else:
            _take_away(directory, path)
    return moved


def begin(directory: Path, what: str) -> Path:
    """A path in `.open` for a recording that begins now."""
    folder = directory / OPEN
    folder.mkdir(parents=True, exist_ok=True)
    paths = (folder / f"{what}.{number}{SUFFIX}" for number in count(1))
    return next(path for path in paths if not path.exists())


def close(directory: Path, path: Path) -> Path:
    """Moves a recording from `.open` to where it belongs, and gives its path there."""
    what = path.name.split(".")[0]
    host, began = _made(path)
    folder = directory / day_folder(f"{began:%Y-%m-%d}", host)
    folder.mkdir(parents=True, exist_ok=True)
    return path.rename(free_name(folder, f"{began:%H%M%S}-{what}"))


def _made(path: Path) -> tuple[str | None, datetime]:
    """Host and time that a manifest says; what it does not say of the time, the file system does."""
    host, seconds = None, _written_s(path)
    with suppress(Problem):
        manifest = read_manifest(path / MANIFEST)
        host = manifest.host.name
        if manifest.clock.wall_ns is not None:
            seconds = manifest.clock.wall_ns / 1e9
    return host, datetime.fromtimestamp(min(max(seconds, 0), _LAST_S), UTC)


def _measured(path: Path, known: Mapping[Path, Kept]) -> Kept:
    written_s = _written_s(path)
    before = known.get(path)
    if before is not None and before.written_s == written_s:
        return before
    return Kept(path, _size(path), written_s)


def _written_s(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _size(path: Path) -> int:
    """Of all files below it."""
    return allocated_bytes(_below(path))


def _below(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            yield from path.rglob("*")


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
