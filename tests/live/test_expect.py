"""Expectations of a real command: known counts of syncs and bytes, its own exit status first."""

import subprocess
import sys
from pathlib import Path

import pytest

from machine import filesystem
from tests.numbers_told import tells

pytestmark = pytest.mark.usefixtures("live")

WORK = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(3):
    os.write(fd, bytes(8192))
    os.fsync(fd)
sys.exit(int(sys.argv[2]))
"""


def expecting(folder: Path, file: Path, status: int, *texts: str) -> tuple[int, str]:
    """How `iowhy run -q` ended, and what it said."""
    options = [word for text in texts for word in ("--expect", text)]
    command = [sys.executable, "-B", "-c", WORK, str(file), str(status)]
    done = subprocess.run(
        [sys.executable, "-m", "iowhy", "run", "-q", *options, "--", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_counts_are_kept_and_broken_at_their_number(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        file = Path(scratch.mount) / "log"
        kept = expecting(tmp_path, file, 0, "sync_calls == 3", "written_bytes == 24 KiB")
        assert kept[0] == 0 and kept[1].count("\n") == 1 and tells(kept[1], "2")
        broken = expecting(tmp_path, file, 0, "sync_calls <= 2", "written_bytes <= 24 KiB")
        by_whom = ("sync_calls <= 2", "3", str(file), "fsync", "100 %")
        assert broken[0] == 3 and tells(broken[1], *by_whom) and "os_fsync" in broken[1]
        assert broken[1].count("\n") == 1
        failed = expecting(tmp_path, file, 7, "sync_calls <= 2")
        assert failed[0] == 7 and tells(failed[1], "sync_calls <= 2", "3")
