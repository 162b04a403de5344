"""A recording whose files come and go while its recorder runs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from iowhy.recordings import Recording

#: Tables that every recorder fills some times a second, and that are small: the last row tells how far the files are.
_CLOCKS = ("cpu_samples", "memory_samples", "thread_time")

Stamp = tuple[tuple[str, int, int], ...]


def stamp_of(path: Path) -> Stamp | None:
    """Something that changes whenever a file of the recording does; None if there is none (yet, or no more).

    It costs a directory listing: recorders close their files by giving them their names, which changes the folder.
    """
    try:
        if not path.is_dir():
            found = path.stat()
            return ((path.name, found.st_mtime_ns, found.st_size),)
        with os.scandir(path) as entries:
            return tuple(
                sorted(
                    (one.name, stat.st_mtime_ns, stat.st_ino)
                    for one in entries
                    # What is being written has another name until it is whole.
                    if not one.name.endswith(".tmp")
                    for stat in (one.stat(follow_symlinks=False),)
                )
            )
    except OSError:
        return None


class Grown(Struct, frozen=True):
    """A recording as far as it is there; `grows` while its recorder runs. Times are of CLOCK_MONOTONIC."""

    recording: "Recording"
    grows: bool
    start_ns: int
    end_ns: int


def grown(path: Path) -> Grown:
    """The recording as it is now. Raises Problem if it is none, or nothing is in it yet."""
    from iowhy.recordings import open_recording

    recording = open_recording(path)
    command = recording.manifest.command
    start, end = command.start_ns, command.end_ns
    if start is None or end is None:
        first, last = _span(recording)
        start = first if start is None else start
        end = max(last, start) if end is None else end
        # So that nobody looks through all of its rows for the last one.
        command = replace(command, start_ns=start, end_ns=end)
        recording = replace(recording, manifest=replace(recording.manifest, command=command))
    return Grown(recording, recording.grows, start, end)


def _span(recording: "Recording") -> tuple[int, int]:
    """The first and last moment that the samples know of, (0, 0) if there are none."""
    with recording.opened() as opened:
        rows = opened.row_counts()
        known = [table for table in _CLOCKS if rows.get(table)]
        opened.need(known)
        spans = []
        for table in known:
            length = "interval_ns" if table == "thread_time" else "0"
            sql = f"SELECT min(ts_ns), max(ts_ns + {length}) FROM {table}"
            spans += opened.connection.execute(sql).fetchall()
    if not spans:
        return 0, 0
    return min(int(first) for first, _ in spans), max(int(last) for _, last in spans)
