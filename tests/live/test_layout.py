"""Extents agree with filefrag, for every kind of file."""

from pathlib import Path

import pytest

from filefrag import filefrag
from iowhy.reports.engine import run as report
from machine import ask, filesystem, python, record

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


#: Copies of a file that share its extents, one read (extents are kept of files that are read or
#: written), one changed in the middle.
SHARE = """
import subprocess
for name in ("shared", "shared-in-part"):
    subprocess.run(["cp", "--reflink=always", f"{folder}/in-order", f"{folder}/{name}"], check=True)
os.read(opened("shared"), 4096)
fd = opened("shared-in-part")
os.pwrite(fd, b"y" * 4096, 40960)
os.fsync(fd)
"""

#: Filesystem, options of its mount and of mkfs, and the kinds of extents that it must show here.
SETUPS = {
    "ext4": ("ext4", "noatime", [], {"unwritten"}),
    "ext4-inline": ("ext4", "noatime", ["-O", "inline_data", "-I", "256"], {"inline"}),
    "xfs": ("xfs", "noatime", ["-m", "reflink=1"], {"unwritten", "shared"}),
    "btrfs": ("btrfs", "noatime", [], {"unwritten", "shared", "inline"}),
    "btrfs-compressed": ("btrfs", "noatime,compress-force=zstd", [], {"encoded", "shared"}),
}


@pytest.mark.parametrize("name", SETUPS)
def test_extents_are_those_of_filefrag(tmp_path: Path, name: str) -> None:
    kind, options, made, expected = SETUPS[name]
    code = MAKE + (SHARE if "shared" in expected else "")
    with filesystem(kind, tmp_path, options=options, made=made) as scratch:
        recording = record(python(code, scratch.mount), tmp_path / "a.iowhy")
        assert recording.ran("extents")
        layout = {
            row["ino"]: row
            for row in report(recording, "layout").to_pylist()
            if row["phase"] == "after" and row["dev"] == scratch.dev
        }
        seen: set[str] = set()
        files = [p for p in scratch.mount.iterdir() if p.is_file()]
        assert len(files) == (8 if "shared" in expected else 6)
        for file in files:
            ino = file.stat().st_ino
            ours = ask(
                recording,
                "SELECT logical_bytes, physical_bytes, bytes, flags FROM extents"
                " WHERE phase = 'after' AND dev = ? AND ino = ? ORDER BY logical_bytes",
                scratch.dev,
                ino,
            )
            theirs, count = filefrag(file)
            assert [(row[0], row[2], set(row[3])) for row in ours] == [  # type: ignore[call-overload]
                (logical, length, flags) for logical, _, length, flags in theirs
            ], file.name
            for (_, physical, _, _), (_, shown, _, flags) in zip(ours, theirs, strict=True):
                # What lies in the inode has no place of its own.
                assert physical == (None if "inline" in flags else shown), file.name
            assert layout[ino]["extents"] == count, file.name
            assert layout[ino]["mapped_extents"] == len(theirs), file.name
            for flag in ("unwritten", "shared"):
                marked = sum(length for _, _, length, flags in theirs if flag in flags)
                assert layout[ino][f"{flag}_bytes"] == marked, (file.name, flag)
            seen.update(*(flags for _, _, _, flags in theirs))
        assert expected <= seen, seen
