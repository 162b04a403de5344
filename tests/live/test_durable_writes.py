"""Writes count as syncs where flags ask for that: of the file, the call, the inode or the mount; and no others."""

import subprocess
from pathlib import Path

import pytest

from iowhy.reports.engine import run as report
from machine import ask, filesystem, python, record

pytestmark = pytest.mark.usefixtures("live")

#: A writer that makes the disk busy and asks for nothing, then each way to ask, once more often each.
WAYS = """
import os, sys
folder = sys.argv[1]
def opened(name, flags=0): return os.open(f"{folder}/{name}", os.O_CREAT | os.O_RDWR | flags)
plain = opened("plain")
for _ in range(100): os.write(plain, bytes(5000))
os.write(opened("appended", os.O_APPEND), bytes(500))
fd = opened("dsync", os.O_DSYNC)
for _ in range(2): os.pwrite(fd, bytes(5000), 0)
fd = opened("sync", os.O_SYNC | os.O_APPEND)
for _ in range(3): os.writev(fd, [bytes(500)])
fd = opened("call")
for _ in range(4): os.pwritev(fd, [bytes(500)], 0, os.RWF_DSYNC)
for _ in range(5): os.pwritev(fd, [bytes(500)], 0, os.RWF_SYNC)
for _ in range(6): os.pwritev(fd, [bytes(500)], 0, os.RWF_HIPRI)
fd = opened("inode")
for _ in range(7): os.pwrite(fd, bytes(500), 0)
source = os.open(f"{folder}/plain", os.O_RDONLY)
copy = opened("copy", os.O_DSYNC)
os.sendfile(copy, source, 0, 4096)
os.copy_file_range(source, copy, 4096, 0, 8192)
os.sendfile(opened("copied"), copy, 0, 4096)
os.write(os.open("/dev/null", os.O_WRONLY | os.O_DSYNC), bytes(500))
"""


def counted(recording: Path) -> dict[str, int]:
    return {row["name"]: row["calls"] for row in report(recording, "sync").to_pylist()}


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_each_way_to_ask_for_durable_writes(tmp_path: Path, kind: str) -> None:
    with filesystem(kind, tmp_path) as scratch:
        (scratch.mount / "inode").touch()
        subprocess.run(["chattr", "+S", scratch.mount / "inode"], check=True)
        recording = record(python(WAYS, scratch.mount), tmp_path / "a.iowhy")
        subprocess.run(["mount", "-o", "remount,sync", scratch.mount], check=True)
        mounted = record(
            ["dd", "if=/dev/zero", f"of={scratch.mount}/dd", "bs=1k", "count=8"],
            tmp_path / "b.iowhy",
        )
    assert counted(recording) == {
        "pwrite64 (O_SYNC)": 2 + 7,
        "writev (O_SYNC)": 3,
        "pwritev2 (O_SYNC)": 4 + 5,
        "sendfile (O_SYNC)": 1,
        "copy_file_range (O_SYNC)": 1,
    }
    assert counted(mounted) == {"write (O_SYNC)": 8}
    # What the rows say, of every call that writes; and of no other.
    known = ask(
        recording,
        "SELECT count(*) FILTER (durable), count(*) FILTER (durable IS NULL) FROM syscalls"
        " WHERE name IN ('write', 'writev', 'pwrite64', 'pwritev2', 'sendfile', 'copy_file_range')",
    )
    assert known == [(23, 0)]
    assert ask(recording, "SELECT count(durable) FROM syscalls WHERE name = 'read'") == [(0,)]
