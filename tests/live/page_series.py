"""Series of steps done to files under the recorder: what each step was counted to have done.

A series has a file of its own, and each of its steps (a first read, the same again, …) is a process of its
own, so that one recording tells them apart, and tells what others evicted meanwhile.
"""

import json
import mmap
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iowhy.recordings import Recording
from machine import Filesystem, ask, python, record

PAGE = 4096
PAGES = (1, 4_099, 262_147)
#: Room for three files of 262,147 pages.
ROOM_BYTES = 4 << 30

COUNTS = {
    "lookups": "lookup_pages",
    "missed": "demand_miss_pages",
    "ahead": "readahead_pages",
    "prefetched": "prefetched_hit_pages",
    "evicted": "evicted_pages",
    "refaults": "refault_pages",
    "major": "major_faults",
    "minor": "minor_faults",
}
NOTHING = dict.fromkeys(COUNTS, 0)

#: What is done, with which advice, and how many bytes at a time (at most, for many pages: LARGE_STEP).
READ_ALONE = ("read", "random", PAGE)
READ_AHEAD = ("read", "normal", PAGE)
PREFETCH = ("prefetch", "normal", 32 * PAGE)
MAP_ALONE = ("map", "random", 0)
MAP_AHEAD = ("map", "normal", 0)
DROP = ("drop", "normal", 0)
FOLIOS = ("folios", "normal", 0)
RESIDENT = ("resident", "normal", 0)
LARGE_STEP = 16 * PAGE

Step = tuple[str, str, int]

#: Another process that empties the cache all the while.
EVICT = """
import os, sys, time
fds = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
while True:
    for fd in fds: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    time.sleep(0.002)
"""


@dataclass(frozen=True)
class Done:
    """What one step was recorded to have done, and what the kernel itself said of it."""

    counted: dict[str, int]
    kernel: dict[str, int]

    def of(self, *names: str) -> tuple[int, ...]:
        return tuple(self.counted[name] for name in names)


@dataclass(frozen=True)
class Series:
    """The steps that were done to one file of `pages` pages, and the pages of it that others evicted."""

    pages: int
    done: list[Done]
    evicted_by_others: int

    @property
    def refaults(self) -> int:
        """Pages that came back after others had evicted them, over all steps."""
        return sum(done.counted["refaults"] for done in self.done)


def steps(
    folder: Path,
    scratch: Filesystem,
    wanted: Mapping[str, Sequence[Step]],
    sizes: Sequence[int] = PAGES,
    *,
    evicting: bool = False,
) -> dict[tuple[int, str], Series]:
    """Record each series of steps, one after the other, on a file of each number of pages.

    A step whose name begins with "half-" does what follows on the first half of the file. `evicting`:
    another process evicts all the while what it can.
    """
    files = {(pages, name): written(scratch, pages, name) for pages in sizes for name in wanted}
    answers_file = folder / "answers"
    script = [
        [
            str(file),
            what.removeprefix("half-"),
            pages // 2 if what.startswith("half-") else pages,
            advice,
            max(size, LARGE_STEP) if size and pages > 10_000 else size,
        ]
        for (pages, name), file in files.items()
        for what, advice, size in wanted[name]
    ]
    code = Path(__file__).with_name("page_steps.py").read_text()
    evictor = subprocess.Popen(python(EVICT, *files.values())) if evicting else None
    try:
        recording = record(python(code, json.dumps(script), answers_file), folder / "pages.iowhy")
    finally:
        if evictor is not None:
            evictor.kill()
            evictor.wait()
    assert recording.manifest.lost() == 0
    answers = iter([json.loads(line) for line in answers_file.read_text().splitlines()])
    counts = _counted(recording, scratch)
    found = {}
    for (pages, name), file in files.items():
        by_process = counts.get(file.stat().st_ino, {})
        mine = [next(answers) for _ in wanted[name]]
        done = [Done(by_process.pop(kernel["pid"], NOTHING), kernel) for kernel in mine]
        evicted_by_others = sum(others["evicted"] for others in by_process.values())
        found[pages, name] = Series(pages, done, evicted_by_others)
    assert not evicting or all(found[sizes[-1], name].evicted_by_others for name in wanted)
    return found


def _counted(recording: Recording, scratch: Filesystem) -> dict[int, dict[int, dict[str, int]]]:
    """By inode and process: each step is a process."""
    sums = ", ".join(f"coalesce(sum({column}), 0)::BIGINT" for column in COUNTS.values())
    rows = ask(
        recording,
        f"SELECT ino, tgid, {sums} FROM page_cache WHERE dev = ? GROUP BY ino, tgid",
        scratch.dev,
    )
    found: dict[int, dict[int, dict[str, int]]] = {}
    for ino, tgid, *sums_of_one in rows:
        found.setdefault(ino, {})[tgid] = dict(zip(COUNTS, sums_of_one, strict=True))  # type: ignore[call-overload, arg-type]
    return found


def written(scratch: Filesystem, pages: int, name: str) -> Path:
    """A file of so many pages that are on the disk and not in the cache."""
    file = scratch.mount / f"{pages}-{name}"
    buffer = memoryview(mmap.mmap(-1, 4 << 20))
    fd = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
    for at in range(0, pages * PAGE, len(buffer)):
        length = min(len(buffer), pages * PAGE - at)
        assert os.pwrite(fd, buffer[:length], at) == length
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    return file
