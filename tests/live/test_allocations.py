"""Every block that a file gets is counted once, as it is allocated: those that it has in the end, and those given back."""

from pathlib import Path

import pytest

from filefrag import filefrag
from iowhy.recordings import Recording
from machine import Filesystem, ask, filesystem, python, record, run

pytestmark = pytest.mark.usefixtures("live")

BLOCK = 4096
#: XFS takes room in advance for a file that grows, and gives back what is not needed; these mounts do not, or files
#: have their length before they are written.
SETUPS = {
    "ext4": ("ext4", "noatime", []),
    "xfs": ("xfs", "noatime,allocsize=4k", []),
    "xfs-rmap": ("xfs", "noatime,allocsize=4k", ["-m", "rmapbt=1,reflink=1"]),
    "btrfs": ("btrfs", "noatime", []),
}
#: The blocks that each file gets while it is recorded.
BLOCKS = {
    "at-once": 256,
    "islands": 40,
    "reserved": 256,
    "direct": 50,
    "small-syncs": 50,
    "turn0": 30,
    "turn1": 30,
    "rewritten": 0,
    "many-islands": 1,
}
#: What is there before: a file whose blocks are overwritten, and one with more extents than its inode holds.
BEFORE = """
import os, sys
folder = sys.argv[1]
def opened(name): return os.open(f"{folder}/{name}", os.O_CREAT | os.O_RDWR)
fd = opened("rewritten")
os.write(fd, b"x" * (64 * 4096))
os.fsync(fd)
fd = opened("many-islands")
for number in range(400): os.pwrite(fd, b"x" * 4096, number * 8192)
os.fsync(fd)
fd = opened("punched")
os.write(fd, b"x" * (64 * 4096))
os.fsync(fd)
"""
WORK = """
import mmap, os, sys
folder = sys.argv[1]
def opened(name, flags=0): return os.open(f"{folder}/{name}", os.O_CREAT | os.O_RDWR | flags)
fd = opened("at-once")
os.write(fd, b"x" * (256 * 4096))
os.fsync(fd)
fd = opened("islands")
for number in range(40): os.pwrite(fd, b"x" * 4096, number * 65536)
os.fsync(fd)
fd = opened("reserved")
os.posix_fallocate(fd, 0, 256 * 4096)
os.pwrite(fd, b"x" * 4096, 8192)
os.fsync(fd)
page = mmap.mmap(-1, 4096)
page.write(b"x" * 4096)
fd = opened("direct", os.O_DIRECT)
for number in range(50): os.pwrite(fd, page, number * 4096)
fd = opened("small-syncs")
for _ in range(50):
    os.write(fd, b"x" * 4096); os.fsync(fd)
fds = [opened(f"turn{n}") for n in range(2)]
for number in range(30):
    for fd in fds:
        os.pwrite(fd, b"x" * 4096, number * 4096); os.fsync(fd)
"""
#: The same blocks again: cached, past the cache, and mapped. Where data is written elsewhere (btrfs) they are new ones.
OVERWRITE = """
fd = opened("rewritten")
os.pwrite(fd, b"y" * (64 * 4096), 0)
os.fsync(fd)
direct = opened("rewritten", os.O_DIRECT)
for number in range(64): os.pwrite(direct, page, number * 4096)
with mmap.mmap(fd, 64 * 4096) as mapped:
    mapped[:] = b"z" * (64 * 4096)
os.fsync(fd)
"""
APPEND = """
fd = opened("many-islands")
os.pwrite(fd, b"x" * 4096, 400 * 8192)
os.fsync(fd)
"""
PUNCH = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
fd = opened("punched")
KEEP_SIZE_AND_PUNCH_HOLE = 3
if libc.fallocate(fd, KEEP_SIZE_AND_PUNCH_HOLE, ctypes.c_long(16 * 4096), ctypes.c_long(20 * 4096)):
    raise OSError(ctypes.get_errno(), "fallocate")
os.pwrite(fd, b"y" * (10 * 4096), 20 * 4096)
os.fsync(fd)
"""
COPY = """
import subprocess
subprocess.run(["cp", "--reflink=always", f"{folder}/at-once", f"{folder}/copied"], check=True)
subprocess.run(["xfs_io", "-c", "cowextsize 4096", f"{folder}/copied"], check=True)
fd = opened("copied")
os.pwrite(fd, b"y" * (7 * 4096), 20 * 4096)
os.fsync(fd)
"""
#: Its blocks while it is open (stat counts those of 512 bytes); the few extents need no block of their own.
GROW = """
import os, sys
fd = os.open(f"{sys.argv[1]}/grown", os.O_CREAT | os.O_RDWR)
for number in range(300):
    os.write(fd, b"x" * 4096)
    if number % 50 == 49: os.fsync(fd)
with open(f"{sys.argv[1]}/while-open", "w") as file: file.write(str(os.fstat(fd).st_blocks * 512 // 4096))
os.close(fd)
"""


def mapped_blocks(file: Path) -> int:
    """The blocks of a file that have a place on the disk."""
    return sum(length for _, _, length, _ in filefrag(file)[0]) // BLOCK


def allocated(recording: Recording, scratch: Filesystem, name: str) -> int:
    found = ask(
        recording,
        "SELECT coalesce(sum(blocks), 0)::BIGINT FROM allocations WHERE dev = ? AND ino = ?",
        scratch.dev,
        (scratch.mount / name).stat().st_ino,
    )
    return int(str(found[0][0]))


@pytest.mark.parametrize("name", SETUPS)
def test_each_block_is_counted_once(tmp_path: Path, name: str) -> None:
    kind, options, made = SETUPS[name]
    expected, code = dict(BLOCKS), WORK + APPEND
    #: Taken away again, and of a copy not its own.
    freed = dict.fromkeys(expected, 0)
    if kind == "btrfs":
        expected["reserved"] = 0  # of fallocate it traces no inode
        freed["reserved"] = -256
    else:
        code += OVERWRITE + PUNCH
        expected["punched"], freed["punched"] = 10, 20
    if kind == "xfs":
        code += COPY
        expected["copied"], freed["copied"] = 7, 7 - 256
    with filesystem(kind, tmp_path, options=options, made=made) as scratch:
        run(*map(str, python(BEFORE, scratch.mount)))
        before = {
            file.name: mapped_blocks(file) for file in scratch.mount.iterdir() if file.is_file()
        }
        # Extents are read from the disk again.
        run("umount", str(scratch.mount))
        run("mount", "-o", options, f"/dev/{scratch.disk}", str(scratch.mount))
        recording = record(python(code, scratch.mount), tmp_path / "a.iowhy")
        assert {file: allocated(recording, scratch, file) for file in expected} == expected
        for file, blocks in expected.items():
            more = mapped_blocks(scratch.mount / file) - before.get(file, 0)
            assert more == blocks - freed[file], file
        assert recording.manifest.lost() == 0


def test_what_xfs_takes_in_advance_is_allocated(tmp_path: Path) -> None:
    """Until the file is closed it has what it got, more than was written; none is counted as it is reserved."""
    with filesystem("xfs", tmp_path) as scratch:
        recording = record(python(GROW, scratch.mount), tmp_path / "a.iowhy")
        file = scratch.mount / "grown"
        while_open = int((scratch.mount / "while-open").read_text())
        assert while_open > 300 and mapped_blocks(file) == 300
        assert allocated(recording, scratch, "grown") == while_open
