"""Recordings, opened by a process that can do nothing else from then on (iowhy/recordings/box.py)."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.cli._ending import end_after
from iowhy.recordings import box

if TYPE_CHECKING:
    from iowhy.recordings import Recording


def opened(path: str | Path, *written: Path | None) -> "Recording":
    """The recording at a path; what is `written` may be. Raises Problem as `open_recording`."""
    from iowhy.recordings import open_recording

    enter([path], written)
    found = open_recording(path)
    box.enter([one for one in written if one is not None])
    return found


def enter(
    paths: Collection[str | Path],
    written: Iterable[Path | None] = (),
    *,
    programs: bool = False,
    bounded: bool = True,
) -> None:
    """Before recordings at paths are read, in `bounded` time; in the box only then if one of them is fetched first.
    `programs` as in box.py.
    """
    from iowhy.recordings.object_store import is_stored

    if bounded:
        end_after(len(paths))
    if not any(is_stored(Path(path)) for path in paths):
        box.enter([one for one in written if one is not None], programs=programs)
