"""Calls whose place in the file, or whose number, the arguments alone do not tell."""

import os
import shutil
from pathlib import Path

import pytest

from conftest import cannot_run
from machine import ask, evicted_by_others, filesystem, one, python, record

pytestmark = pytest.mark.usefixtures("live")

PAGE = 4_096

APPENDS = """
import os, sys
a = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
b = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for length in (100, 5000, 300):
    os.write(a, bytes(length))
    os.write(b, bytes(7))
"""

#: -1 stands for the file position in preadv2 and pwritev2.
POSITION = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_RDONLY)
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8192)
vector = Vector(ctypes.addressof(buffer), 8192)
for _ in range(3):
    assert libc.preadv2(fd, ctypes.byref(vector), 1, ctypes.c_long(-1), 0) == 8192
"""

#: mov eax, 20 (getpid of 32-bit programs); int 0x80; ret
COMPAT = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
for _ in range(41):
    call()
"""


def test_a_write_that_appends_is_where_the_file_ended(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "log"
        recording = record(python(APPENDS, file), tmp_path / "a.iowhy")
        written = ask(
            recording,
            "SELECT \"offset\", ret FROM syscalls WHERE name = 'write' AND dev = ? AND ino = ?"
            " ORDER BY ts_ns",
            scratch.dev,
            file.stat().st_ino,
        )
    assert written == [(0, 100), (100, 7), (107, 5000), (5107, 7), (5114, 300), (5414, 7)]


def test_an_offset_of_minus_one_is_the_file_position(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "file"
        file.write_bytes(bytes(6 * PAGE))
        recording = record(python(POSITION, file), tmp_path / "a.iowhy")
        ino = file.stat().st_ino
        read = ask(
            recording,
            "SELECT \"offset\", ret FROM syscalls WHERE name = 'preadv2' AND ino = ? ORDER BY ts_ns",
            ino,
        )
        looked_up = one(recording, "SELECT sum(lookup_pages) FROM page_cache WHERE ino = ?", ino)
    assert read == [(0, 8192), (8192, 8192), (16384, 8192)]
    assert looked_up == 6


def test_calls_of_32_bit_programs_are_not_taken_for_others(tmp_path: Path) -> None:
    recording = record(python(COMPAT), tmp_path / "a.iowhy", status=None)
    if recording.manifest.command.signal is not None:  # a kernel that runs no such programs
        assert recording.manifest.command.exit_status != 0
        return
    calls = one(recording, "SELECT sum(calls) FROM syscall_totals WHERE name = 'syscall32_20'")
    assert calls == 41


def test_pages_given_up_are_not_wanted_for_want_of_memory(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "file"
        file.write_bytes(bytes(512 * PAGE))
        fd = os.open(file, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        code = (
            "import os, sys; fd = os.open(sys.argv[1], os.O_RDONLY)\n"
            "for _ in range(3):\n"
            "    os.pread(fd, 512 * 4096, 0)\n"
            "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        )
        recording = record(python(code, file), tmp_path / "a.iowhy")
        ino = file.stat().st_ino
        ((lookups, found, came, evicted, refaults),) = ask(
            recording,
            "SELECT sum(lookup_pages), sum(demand_miss_pages) + sum(prefetched_hit_pages),"
            " sum(demand_miss_pages) + sum(readahead_pages), sum(evicted_pages), sum(refault_pages)"
            " FROM page_cache WHERE dev = ? AND ino = ?",
            scratch.dev,
            ino,
        )
        others = evicted_by_others(recording, scratch.dev, ino)
    # Where others evict nothing (others = 0), each is 1,536, and 0 came back.
    assert lookups == 3 * 512
    assert came == evicted == 3 * 512 + refaults  # type: ignore[operator]
    assert 0 <= refaults <= others  # type: ignore[operator]
    assert abs(found - 3 * 512) <= others  # type: ignore[operator]


def test_what_an_io_uring_worker_writes_was_not_read_ahead(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if shutil.which("fio") is None:
        cannot_run(request, "fio is not installed: tools/setup test brings it")
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "file"
        fio = [
            "fio", "--name=w", f"--filename={file}", "--rw=randwrite", "--bs=4k", "--size=16m",
            "--ioengine=io_uring", "--iodepth=8", "--force_async=1", "--fallocate=none",
            "--output-format=terse", f"--output={tmp_path}/fio.out",
        ]  # fmt: skip
        recording = record(fio, tmp_path / "a.iowhy")
        counts = ask(
            recording,
            "SELECT sum(dirtied_pages), sum(readahead_pages), sum(demand_miss_pages)"
            " FROM page_cache WHERE dev = ? AND ino = ?",
            scratch.dev,
            file.stat().st_ino,
        )
    assert counts == [(4096, 0, 0)]


def test_only_passes_over_files_of_the_command_are_kept(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        other = scratch.mount / "other"
        other.mkdir()
        for number in range(50):
            (other / f"{number}").write_bytes(bytes(PAGE))
        code = (
            "import os, sys; fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
            "os.write(fd, bytes(8192)); os.sync()\n"
        )
        mine = scratch.mount / "mine"
        recording = record(python(code, mine), tmp_path / "a.iowhy")
        inodes = ask(
            recording,
            "SELECT DISTINCT ino FROM writeback WHERE dev = ? AND pages_written > 0",
            scratch.dev,
        )
        assert (mine.stat().st_ino,) in inodes
        assert not {ino for (ino,) in inodes} & {f.stat().st_ino for f in other.iterdir()}
