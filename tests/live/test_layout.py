"""Extents agree with filefrag, for every kind of file."""

import os
import re
from pathlib import Path

import pytest

from machine import ask, filesystem, python, record, run

pytestmark = pytest.mark.usefixtures("live")

MAKE = """
import ctypes, os, sys
folder = sys.argv[1]
def opened(name): return os.open(f"{folder}/{name}", os.O_CREAT | os.O_RDWR)
fd = opened("in-order")
for _ in range(300): os.write(fd, bytes(4096))
os.fsync(fd)
fd = opened("sparse")
for number in range(40): os.pwrite(fd, b"x" * 4096, number * 65536)
os.fsync(fd)
fd = opened("unwritten")
os.posix_fallocate(fd, 0, 1 << 20)
os.pwrite(fd, b"x" * 4096, 8192)
os.fsync(fd)
fd = opened("small")
os.write(fd, b"tiny")
os.fsync(fd)
fds = [opened(f"turn{n}") for n in range(2)]
for number in range(30):
    for fd in fds:
        os.pwrite(fd, b"x" * 4096, number * 4096); os.fsync(fd)
"""


def filefrag(path: Path) -> list[tuple[int, int, int]]:
    """(logical, physical, length) in bytes of each extent, as filefrag prints them."""
    told = run("filefrag", "-e", "-b1", str(path))
    found = []
    for line in told.splitlines():
        match = re.match(r"\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):", line)
        if match:
            found.append(tuple(map(int, match.groups())))
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_extents_are_those_of_filefrag(tmp_path: Path, kind: str) -> None:
    with filesystem(kind, tmp_path) as scratch:
        recording = record(python(MAKE, scratch.mount), tmp_path / "a.iowhy")
        files = [p for p in scratch.mount.iterdir() if p.is_file()]
        assert len(files) == 6
        for file in files:
            ours = ask(
                recording,
                "SELECT logical_bytes, coalesce(physical_bytes, 0), bytes FROM extents"
                " WHERE phase = 'after' AND dev = ? AND ino = ? ORDER BY logical_bytes",
                scratch.dev,
                file.stat().st_ino,
            )
            expected = filefrag(file)
            if any("inline" in str(flags) for (flags,) in ask(
                recording, "SELECT flags FROM extents WHERE ino = ?", file.stat().st_ino
            )):  # fmt: skip
                assert len(ours) == len(expected), file.name
                continue
            assert ours == expected, file.name
        assert recording.ran("extents")


def test_shared_extents_are_marked(tmp_path: Path) -> None:
    code = "import os, sys, subprocess\nsubprocess.run(['cp', '--reflink=always', sys.argv[1], sys.argv[2]], check=True)\nfd = os.open(sys.argv[1], os.O_RDONLY); os.read(fd, 1 << 20)"
    with filesystem("xfs", tmp_path) as scratch:
        one, two = scratch.mount / "one", scratch.mount / "two"
        one.write_bytes(os.urandom(1 << 20))
        run("sync", "-f", str(scratch.mount))
        recording = record(python(code, one, two), tmp_path / "a.iowhy")
        flags = ask(
            recording,
            "SELECT flags FROM extents WHERE phase = 'after' AND dev = ? AND ino = ?",
            scratch.dev,
            one.stat().st_ino,
        )
        assert flags and all("shared" in row[0] for row in flags)  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_allocations_are_seen_as_they_are_made(tmp_path: Path, kind: str) -> None:
    with filesystem(kind, tmp_path) as scratch:
        recording = record(python(MAKE, scratch.mount), tmp_path / "a.iowhy")
        for name, blocks in (("in-order", 300), ("sparse", 40), ("turn0", 30), ("turn1", 30)):
            allocated = ask(
                recording,
                "SELECT sum(blocks)::BIGINT FROM allocations WHERE dev = ? AND ino = ?",
                scratch.dev,
                (scratch.mount / name).stat().st_ino,
            )[0][0]
            # XFS preallocates beyond the end of a file that grows, and gives it back later.
            assert allocated == blocks if kind == "ext4" else int(str(allocated)) >= blocks, name
