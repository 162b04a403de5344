"""Pages are counted exactly: 1, 4,099 and 262,147 of them, in folios of one page and in larger ones.

Each step of a recorded command (a first read, the same again, …) is a process of its own, so that one
recording holds what each of them asked for, missed and found. The command itself asks the kernel how
many pages are resident (cachestat(2), mincore(2)), how many faults each step took (getrusage(2)), and
whether pages lie in large folios (/proc/kpageflags).
"""

import json
import mmap
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from iowhy.recording import Recording
from machine import Filesystem, ask, in_memory, python, record

pytestmark = pytest.mark.usefixtures("live")

PAGE = 4096
PAGES = (1, 4_099, 262_147)

#: Does the steps of a JSON list, [path, what, pages, advice, bytes at a time] each, and writes what the
#: kernel told of each to a file.
STEPS = """
import ctypes, json, mmap, os, resource, sys

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]

def at_once(pages, size):
    return ((at, min(size, pages * 4096 - at)) for at in range(0, pages * 4096, size))

def do(fd, what, pages, advice, size):
    if advice == "random": os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    memory = mmap.mmap(fd, pages * 4096, mmap.MAP_SHARED, mmap.PROT_READ) if what == "map" else None
    if memory and advice == "random": memory.madvise(mmap.MADV_RANDOM)
    before = resource.getrusage(resource.RUSAGE_SELF)
    if what == "read":
        for at, length in at_once(pages, size): assert len(os.pread(fd, length, at)) == length
    elif what == "map":
        for number in range(pages): memory[number * 4096]
    elif what == "prefetch":
        for at, length in at_once(pages, size): os.posix_fadvise(fd, at, length, os.POSIX_FADV_WILLNEED)
    elif what == "drop": os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {"major": after.ru_majflt - before.ru_majflt, "minor": after.ru_minflt - before.ru_minflt}

def resident(fd, pages):
    vector = (ctypes.c_ubyte * pages)()
    start = libc.mmap(None, pages * 4096, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(pages * 4096), vector) == 0
    of, found = (ctypes.c_uint64 * 2)(0, pages * 4096), (ctypes.c_uint64 * 5)()
    by_cachestat = found[0] if libc.syscall(451, fd, of, found, 0) == 0 else None  # since 6.5
    return {"mincore": sum(bytes(vector)), "cachestat": by_cachestat}

def folios(fd, pages):
    start = libc.mmap(None, pages * 4096, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    pagemap, flags = (os.open(f"/proc/{name}", os.O_RDONLY) for name in ("self/pagemap", "kpageflags"))
    counts = {"one": 0, "large": 0}
    for number in range(0, pages, 1 + pages // 5000):
        ctypes.c_ubyte.from_address(start + number * 4096).value
        (entry,) = memoryview(os.pread(pagemap, 8, (start // 4096 + number) * 8)).cast("Q")
        (bits,) = memoryview(os.pread(flags, 8, (entry & (1 << 55) - 1) * 8)).cast("Q")
        counts["large" if bits >> 15 & 3 else "one"] += 1  # compound head or tail
    return counts

told = open(sys.argv[2], "w")
for path, what, pages, advice, size in json.loads(sys.argv[1]):
    fd = os.open(path, os.O_RDONLY)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        if what == "resident": answer = resident(fd, pages)
        elif what == "folios": answer = folios(fd, pages)
        else: answer = do(fd, what, pages, advice, size)
        os.write(writing, json.dumps({"pid": os.getpid(), **answer}).encode())
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    print(os.read(reading, 4096).decode(), file=told)
    for opened in (reading, writing, fd): os.close(opened)
"""

COUNTS = {
    "lookups": "lookup_pages",
    "missed": "demand_miss_pages",
    "ahead": "readahead_pages",
    "prefetched": "prefetched_hit_pages",
    "evicted": "evicted_pages",
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


@dataclass(frozen=True)
class Done:
    """What one step was recorded to have done, and what the kernel told of it."""

    counted: dict[str, int]
    told: dict[str, int]

    def of(self, *names: str) -> tuple[int, ...]:
        return tuple(self.counted[name] for name in names)


def steps(
    folder: Path, scratch: Filesystem, wanted: Sequence[Step], sizes: Sequence[int] = PAGES
) -> dict[int, list[Done]]:
    """Record the steps, one after the other, on a file of each number of pages.

    A step whose name begins with "half-" does what follows on the first half of the file.
    """
    files = {pages: written(scratch, pages) for pages in sizes}
    told = folder / "told"
    script = [
        [
            str(file),
            what.removeprefix("half-"),
            pages // 2 if what.startswith("half-") else pages,
            advice,
            max(size, LARGE_STEP) if size and pages > 10_000 else size,
        ]
        for pages, file in files.items()
        for what, advice, size in wanted
    ]
    recording = record(python(STEPS, json.dumps(script), told), folder / "pages.iowhy")
    assert recording.manifest.lost() == 0
    answers = iter([json.loads(line) for line in told.read_text().splitlines()])
    counts = _counted(recording, scratch)
    found: dict[int, list[Done]] = {}
    for pages, file in files.items():
        ino = file.stat().st_ino
        mine = [next(answers) for _ in wanted]
        found[pages] = [Done(counts.get((ino, told["pid"]), NOTHING), told) for told in mine]
    return found


def _counted(recording: Recording, scratch: Filesystem) -> dict[tuple[int, int], dict[str, int]]:
    """By inode and process: each step is a process."""
    sums = ", ".join(f"sum({column})::BIGINT" for column in COUNTS.values())
    rows = ask(
        recording,
        f"SELECT ino, tgid, {sums} FROM page_cache WHERE dev = ? GROUP BY ino, tgid",
        scratch.dev,
    )
    return {(row[0], row[1]): dict(zip(COUNTS, row[2:], strict=True)) for row in rows}  # type: ignore[arg-type, misc]


def written(scratch: Filesystem, pages: int) -> Path:
    """A file of so many pages that are on the disk and not in the cache."""
    file = scratch.mount / f"{pages}"
    buffer = memoryview(mmap.mmap(-1, 4 << 20))
    fd = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
    for at in range(0, pages * PAGE, len(buffer)):
        length = min(len(buffer), pages * PAGE - at)
        assert os.pwrite(fd, buffer[:length], at) == length
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    return file


def large_folios(kind: str) -> bool:
    """Whether this kernel's filesystem reads ahead in large folios (ext4 since Linux 6.16)."""
    return _release() >= ((6, 16) if kind == "ext4" else (5, 18))


def _release() -> tuple[int, ...]:
    return tuple(map(int, platform.release().split("-")[0].split(".")[:2]))


def folios_are(size: str, done: Done) -> None:
    """All pages lie alone, or most in large folios: readahead begins small, and memory may be in pieces."""
    assert done.told[size] > (done.told["one"] + done.told["large"]) / 2, done.told
    assert size == "large" or done.told["large"] == 0, done.told


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_each_page_is_looked_up_missed_or_prefetched(tmp_path: Path, kind: str) -> None:
    with in_memory(kind, tmp_path) as scratch:
        found = steps(
            tmp_path,
            scratch,
            [
                READ_ALONE, READ_ALONE, FOLIOS, RESIDENT, DROP,
                READ_AHEAD, READ_AHEAD, FOLIOS, DROP,
                PREFETCH, READ_AHEAD, FOLIOS, DROP,
            ],
        )  # fmt: skip
    for pages, done in found.items():
        cold, warm, small, resident, dropped, ahead, again, large, _, fetch, fetched, one, _ = done
        assert cold.counted == NOTHING | {"lookups": pages, "missed": pages}
        assert warm.counted == NOTHING | {"lookups": pages}
        folios_are("one", small)
        assert resident.told["mincore"] == pages
        assert resident.told["cachestat"] in (pages, None)
        assert dropped.counted == NOTHING | {"evicted": pages}

        assert ahead.counted["lookups"] == pages
        missed, prefetched = ahead.of("missed", "prefetched")
        assert missed + prefetched == pages and 1 <= missed <= 1 + pages // 100
        assert ahead.counted["ahead"] == prefetched
        assert again.counted == NOTHING | {"lookups": pages}
        if pages > 1 and large_folios(kind):
            folios_are("large", large)

        assert fetch.counted == NOTHING | {"ahead": pages}
        assert fetched.counted == NOTHING | {"lookups": pages, "prefetched": pages}
        folios_are("one", one)


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_mapped_pages_are_counted_by_their_faults(tmp_path: Path, kind: str) -> None:
    with in_memory(kind, tmp_path) as scratch:
        found = steps(
            tmp_path,
            scratch,
            [MAP_ALONE, MAP_ALONE, FOLIOS, DROP, MAP_AHEAD, FOLIOS, DROP],
        )
    for pages, (cold, warm, small, _, ahead, large, _) in found.items():
        assert cold.of("lookups", "missed", "major") == (pages, pages, pages)
        assert cold.of("ahead", "prefetched", "evicted") == (0, 0, 0)
        _faults_are_those_of_the_kernel(cold)
        folios_are("one", small)
        # A fault maps what is there around it, 64 KiB by default.
        (faults,) = warm.of("minor")
        assert warm.counted == NOTHING | {"lookups": faults, "minor": faults}
        assert 1 <= faults <= pages
        _faults_are_those_of_the_kernel(warm)

        missed, prefetched, readahead = ahead.of("missed", "prefetched", "ahead")
        assert missed + prefetched == missed + readahead == pages
        assert missed == ahead.counted["major"]
        _faults_are_those_of_the_kernel(ahead)
        if pages > 1 and large_folios(kind):
            folios_are("large", large)


def _faults_are_those_of_the_kernel(done: Done) -> None:
    """Each fault is one lookup. The process has a few faults on memory of its own, too.

    One fault that was under way at a reading may be counted as minor before it turned major.
    """
    assert done.counted["major"] == done.told["major"]
    assert -1 <= done.told["minor"] - done.counted["minor"] <= 100
    assert 0 <= done.counted["minor"] + done.counted["major"] - done.counted["lookups"] <= 1


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_half_resident_is_half_missed(tmp_path: Path, kind: str) -> None:
    half_alone, half_ahead = ("half-read", "random", PAGE), ("half-read", "normal", PAGE)
    with in_memory(kind, tmp_path) as scratch:
        found = steps(
            tmp_path,
            scratch,
            [
                half_alone, RESIDENT, READ_ALONE, DROP,
                half_alone, RESIDENT, MAP_ALONE, DROP,
                half_ahead, RESIDENT, READ_ALONE,
            ],
        )  # fmt: skip
    for pages, done in found.items():
        _, before, read, _, _, before_mapped, mapped, _, _, before_large, rest = done
        half = pages // 2
        for resident in (before, before_mapped):
            assert resident.told["mincore"] == half
            assert resident.told["cachestat"] in (half, None)
        assert read.counted == NOTHING | {"lookups": pages, "missed": pages - half}
        assert mapped.of("missed", "ahead", "major") == (pages - half, 0, pages - half)
        # In large folios, and readahead has gone beyond the half.
        there = before_large.told["mincore"]
        assert half <= there <= pages
        assert before_large.told["cachestat"] in (there, None)
        more = {"lookups": pages, "missed": pages - there, "prefetched": there - half}
        assert rest.counted == NOTHING | more


def test_large_folios_without_readahead(tmp_path: Path) -> None:
    """XFS with blocks of 64 KiB: no page is without its 15 neighbours (Linux 6.12 and later)."""
    if not Path("/sys/kernel/mm/transparent_hugepage").exists() or _release() < (6, 12):
        pytest.skip("this kernel has no blocks that are larger than a page")
    block = 16
    with in_memory("xfs", tmp_path, made=["-b", f"size={block * PAGE}"]) as scratch:
        read = ("read", "random", block * PAGE)
        found = steps(tmp_path, scratch, [read, read, FOLIOS, DROP, MAP_ALONE, MAP_ALONE])
    for pages, (cold, warm, large, dropped, mapped, again) in found.items():
        assert cold.counted == NOTHING | {"lookups": pages, "missed": pages}
        assert warm.counted == NOTHING | {"lookups": pages}
        folios_are("large", large)
        assert dropped.counted["evicted"] == pages
        faults = -(-pages // block)
        assert mapped.of("lookups", "missed", "major") == (faults, faults, faults)
        _faults_are_those_of_the_kernel(mapped)
        assert mapped.of("ahead", "prefetched") == (pages - faults, pages - faults)
        assert again.of("missed", "ahead", "prefetched", "major") == (0, 0, 0, 0)


def test_readahead_in_folios_of_one_page(tmp_path: Path) -> None:
    """ext4 has no large folios where data goes through the journal."""
    with in_memory("ext4", tmp_path, options="noatime,data=journal") as scratch:
        found = steps(tmp_path, scratch, [READ_AHEAD, FOLIOS, DROP, MAP_AHEAD], PAGES[:2])
    for pages, (read, small, _, mapped) in found.items():
        folios_are("one", small)
        for done in (read, mapped):
            missed, ahead, prefetched = done.of("missed", "ahead", "prefetched")
            assert missed + prefetched == missed + ahead == pages
        assert read.counted["lookups"] == pages
        _faults_are_those_of_the_kernel(mapped)
