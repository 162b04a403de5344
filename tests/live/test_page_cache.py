"""What the page cache takes and gives back: writing, and reading under a memory limit."""

import os
import subprocess
from pathlib import Path

import pytest

from conftest import cannot_run
from disturbances import Disturbed
from iowhy.experiments import groups
from iowhy.recordings import Recording
from iowhy.reports.engine import run as report
from iowhy.undo import Undo
from machine import Filesystem, ask, evicted_by_others, filesystem, one, python, record

pytestmark = pytest.mark.usefixtures("live")

PAGE = 4096


def make(path: Path, pages: int) -> None:
    with path.open("wb") as file:
        for _ in range(pages // 256):
            file.write(bytes(256 * PAGE))
        file.write(bytes(pages % 256 * PAGE))
    subprocess.run(["sync", path], check=True)


def drop(path: Path) -> None:
    """Take a clean file out of the cache (posix_fadvise(2), DONTNEED)."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def counted(recording: Recording, scratch: Filesystem, path: Path) -> dict[str, int]:
    names = (
        "lookup_pages", "demand_miss_pages", "readahead_pages", "prefetched_hit_pages",
        "dirtied_pages", "evicted_pages", "refault_pages", "major_faults", "minor_faults",
    )  # fmt: skip
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT" for name in names)
    row = ask(
        recording,
        f"SELECT {sums} FROM page_cache WHERE dev = ? AND ino = ?",
        scratch.dev,
        path.stat().st_ino,
    )[0]
    return dict(zip(names, row, strict=True))  # type: ignore[arg-type]


def test_the_same_page_written_a_hundred_times_is_one_page(tmp_path: Path) -> None:
    code = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
for _ in range(100): os.pwrite(fd, b"x" * 4096, 8192)
os.fsync(fd)
"""
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "file"
        make(file, 8)
        recording = record(python(code, file), tmp_path / "a.iowhy")
        ino = file.stat().st_ino
        foreign = "SELECT sum(pages_written) FROM writeback WHERE dev = ? AND ino = ? AND reason <> 'fsync'"
        if one(recording, foreign, scratch.dev, ino):
            raise Disturbed("another's sync, or the flusher, wrote the page before the command did")
        assert counted(recording, scratch, file)["dirtied_pages"] == 1
        assert ask(
            recording,
            "SELECT count(*), sum(bytes), min(owner_page) FROM block_requests"
            " WHERE owner_dev = ? AND owner_ino = ? AND op = 'write'",
            scratch.dev,
            ino,
        ) == [(1, PAGE, 2)]


@pytest.mark.parametrize(
    "missing",
    [
        ("mm_filemap_get_pages",),
        ("mm_filemap_get_pages", "mm_filemap_fault", "mm_filemap_map_pages"),
    ],
)
def test_an_older_kernel_estimates_lookups_and_says_so(
    tmp_path: Path, missing: tuple[str, ...]
) -> None:
    """Linux before 6.12 does not tell of lookups: read calls stand for them, direct I/O for none."""
    code = """
import mmap, os, sys
read, mapped, direct = sys.argv[1:]
fd = os.open(read, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for _ in range(2):
    for number in range(1001): os.pread(fd, 4096, number * 4096)
fd = os.open(mapped, os.O_RDONLY)
memory = mmap.mmap(fd, 1001 * 4096, mmap.MAP_SHARED, mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
for number in range(1001): memory[number * 4096]
fd = os.open(direct, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
for number in range(1001): os.preadv(fd, [page], number * 4096)
"""
    with filesystem("ext4", tmp_path) as scratch:
        files = [scratch.mount / name for name in ("read", "mapped", "direct")]
        for file in files:
            make(file, 1001)
            drop(file)
        without = [word for name in missing for word in ("--without", name)]
        recording = record(python(code, *files), tmp_path / "a.iowhy", *without)
        read, mapped, direct = (counted(recording, scratch, file) for file in files)
        evicted = evicted_by_others(recording, scratch.dev, files[0].stat().st_ino)
    assert not recording.ran("lookups") and recording.ran("page_cache")
    again = read["refault_pages"]
    assert (read["lookup_pages"], read["demand_miss_pages"]) == (2002, 1001 + again)
    assert again <= evicted
    assert (mapped["lookup_pages"], mapped["demand_miss_pages"]) == (1001, 1001)
    assert direct["lookup_pages"] == direct["demand_miss_pages"] == 0
    assert one(recording, "SELECT bool_and(estimated) FROM page_cache") is True
    faults = one(recording, "SELECT sum(major_faults) FROM page_cache")
    assert (faults is None) == ("mm_filemap_fault" in missing)
    cache = report(recording, "cache").to_pylist()
    assert all(row["estimated"] for row in cache)


def test_buffered_and_direct_bytes_arrive_at_the_device(tmp_path: Path) -> None:
    code = """
import mmap, os, sys
folder = sys.argv[1]
fd = os.open(folder + "/buffered", os.O_CREAT | os.O_WRONLY)
for _ in range(517): os.write(fd, b"b" * 4096)
os.close(fd)
page = mmap.mmap(-1, 4096)
fd = os.open(folder + "/direct", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
for _ in range(101): os.write(fd, page)
os.close(fd)
os.sync()
"""
    for kind in ("ext4", "xfs", "btrfs"):
        with filesystem(kind, tmp_path) as scratch:
            recording = record(python(code, scratch.mount), tmp_path / f"{kind}.iowhy")
            for name, pages in (("buffered", 517), ("direct", 101)):
                written = ask(
                    recording,
                    "SELECT sum(bytes)::BIGINT, bool_and(in_scope) FROM block_requests"
                    " WHERE owner_dev = ? AND owner_ino = ? AND op = 'write'"
                    " AND owner_kind = 'data'",
                    scratch.dev,
                    (scratch.mount / name).stat().st_ino,
                )
                assert written == [(pages * PAGE, True)], (kind, name)
            # The disk of the loop device writes it again, which is not counted again.
            total = sum(
                row["bytes"]
                for row in report(recording, "amplification").to_pylist()
                if (row["layer"], row["what"]) == ("requests", "write data")
            )
            assert total == (517 + 101) * PAGE, kind


def test_what_does_not_fit_a_memory_limit_is_read_on_every_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """16 passes under a limit of 32 MiB: 16 MiB are read once, 64 MiB on every pass."""
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    place = groups.find("memory")
    if isinstance(place, str):
        cannot_run(request, place)
    code = """
import os, sys
open(sys.argv[2], "w").write(str(os.getpid()))
fd = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(16):
    done = 0
    while chunk := os.pread(fd, 1 << 17, done): done += len(chunk)
"""
    with filesystem("ext4", tmp_path) as scratch, Undo.session("test-passes") as undo:
        group = groups.make("memory", "passes", undo)
        knob = {1: "memory.limit_in_bytes", 2: "memory.max"}[group.version]
        group.write(knob, str(32 * 2**20))
        for mebibytes, fits in ((16, True), (64, False)):
            file = scratch.mount / f"{mebibytes}"
            pages = mebibytes * 256
            make(file, pages)
            drop(file)
            recording = record(python(code, file, group.procs), tmp_path / f"{mebibytes}.iowhy")
            found = counted(recording, scratch, file)
            added = found["demand_miss_pages"] + found["readahead_pages"]
            assert found["lookup_pages"] >= 16 * pages
            if fits:
                # Of what fits, the limit evicts nothing; others may.
                others = evicted_by_others(recording, scratch.dev, file.stat().st_ino)
                assert found["evicted_pages"] == others
                assert added == pages + found["refault_pages"]
                assert found["refault_pages"] <= others
            else:
                # LRU over a loop that is larger than the memory keeps next to nothing; the
                # kernel's working-set protection saves a few pages.
                assert added > 14 * pages
                assert found["refault_pages"] > 12 * pages
                assert found["evicted_pages"] > 14 * pages


def test_others_drop_and_dirty_by_name(tmp_path: Path) -> None:
    """A process outside reads nothing: it drops the command's file, and makes another one dirty."""
    code = """
import sys
path, now, done = sys.argv[1:]
open(path, "rb").read()
open(now, "w").write("now")
open(done).read()
"""
    outside = (
        "import os, sys\n"
        "path, other, now, done = sys.argv[1:]\n"
        "open(now).read()\n"
        "fd = os.open(path, os.O_RDONLY)\n"
        "os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "open(other, 'wb').write(bytes(100 * 4096))\n"
        "open(done, 'w').write('done')\n"
    )
    with filesystem("ext4", tmp_path) as scratch:
        path, other = scratch.mount / "read", scratch.mount / "other"
        make(path, 300)
        pipes = [tmp_path / "now", tmp_path / "done"]
        for pipe in pipes:
            os.mkfifo(pipe)
        beside = subprocess.Popen(python(outside, path, other, *pipes))
        recording = record(python(code, path, *pipes), tmp_path / "r.iowhy")
        assert beside.wait() == 0
        ino = path.stat().st_ino
        rows = ask(
            recording,
            "SELECT sum(evicted_pages)::BIGINT, sum(reclaimed_pages)::BIGINT FROM page_cache"
            " WHERE dev = ? AND ino = ? AND tgid = ?",
            scratch.dev,
            ino,
            beside.pid,
        )
        assert rows == [(300 - evicted_by_others_than(recording, scratch, ino, beside.pid), 0)]
        dirtied = "SELECT sum(pages)::BIGINT FROM dirtied_by_others WHERE dev = ? AND tgid = ?"
        assert one(recording, dirtied, scratch.dev, beside.pid) == 100
        assert one(recording, "SELECT count(*) FROM neighbours WHERE tgid = ?", beside.pid) == 1


def evicted_by_others_than(recording: Recording, scratch: Filesystem, ino: int, tgid: int) -> int:
    counted = one(
        recording,
        "SELECT coalesce(sum(evicted_pages), 0)::BIGINT FROM page_cache"
        " WHERE dev = ? AND ino = ? AND tgid <> ?",
        scratch.dev,
        ino,
        tgid,
    )
    return int(str(counted))
