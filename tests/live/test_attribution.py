"""Requests are charged to whom they belong; sync and journal agree with the kernel's own counts."""

import subprocess
import time
from pathlib import Path

import pytest

from iowhy.reports.engine import run as report
from machine import ask, disk_counters, disk_number, filesystem, one, python, record, work

pytestmark = pytest.mark.usefixtures("live")

SYNCED = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(23): os.write(fd, bytes(8192)); os.fsync(fd)
"""


def test_another_processes_requests_are_not_charged_to_the_command(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        other = scratch.mount / "other"
        other.write_bytes(bytes(32 * 2**20))
        neighbour = subprocess.Popen(
            [
                str(a)
                for a in work("randread", "--file", other, "--threads", "4", "--for-seconds", "60")
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            idle = disk_counters(scratch.disk)["reads"]
            while disk_counters(scratch.disk)["reads"] < idle + 100:
                assert neighbour.poll() is None, "the neighbour has ended"
                time.sleep(0.01)
            # The command reads a page of the neighbour's file too.
            program = python(f"open({str(other)!r}, 'rb').read(1)" + SYNCED, scratch.mount / "mine")
            recording = record(program, tmp_path / "a.iowhy")
        finally:
            neighbour.kill()
            neighbour.wait()
        reads = ask(
            recording,
            "SELECT in_scope, tgid = ?, count(*) FROM block_requests"
            " WHERE dev = ? AND op = 'read' AND owner_ino = ? GROUP BY 1, 2 ORDER BY 1",
            neighbour.pid,
            disk_number(scratch.disk),
            other.stat().st_ino,
        )
        assert reads[0][:2] == (False, True) and int(str(reads[0][2])) > 10
        assert [r[:2] for r in reads[1:]] in ([], [(True, False)])
        mine = ask(
            recording,
            "SELECT DISTINCT in_scope FROM block_requests WHERE owner_dev = ? AND owner_ino = ?",
            scratch.dev,
            (scratch.mount / "mine").stat().st_ino,
        )
        assert mine == [(True,)]


def test_the_journal_commits_are_those_of_the_kernel(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        info = next(Path("/proc/fs/jbd2").glob(f"{scratch.disk}-*/info"))

        def transactions() -> int:
            return int(info.read_text().split()[0])

        before = transactions()
        recording = record(python(SYNCED, scratch.mount / "f"), tmp_path / "a.iowhy")
        commits = transactions() - before
        assert commits >= 23
        counted = one(
            recording,
            "SELECT count(*) FROM journal_commits WHERE dev = ? AND kind = 'jbd2'",
            scratch.dev,
        )
        assert counted == commits


def test_buffered_writes_are_followed_to_the_worker_that_wrote_them(tmp_path: Path) -> None:
    code = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(256): os.write(fd, bytes(4096))
os.close(fd)
os.sync()
"""
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(code, scratch.mount / "f"), tmp_path / "a.iowhy")
        ino = (scratch.mount / "f").stat().st_ino
        passes = ask(
            recording,
            "SELECT sum(pages_written)::BIGINT, list(DISTINCT reason) FROM writeback"
            " WHERE dev = ? AND ino = ?",
            scratch.dev,
            ino,
        )
        assert passes[0][0] == 256, passes
        assert set(passes[0][1]) <= {"sync", "background", "periodic", "fsync"}  # type: ignore[arg-type]


def test_the_parts_of_sync_sum_to_the_calls(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(SYNCED, scratch.mount / "f"), tmp_path / "a.iowhy")
        rows = report(recording, "sync").to_pylist()
        fsync = next(row for row in rows if row["name"] == "fsync")
        assert fsync["calls"] == 23
        parts = ("own_data", "journal", "flush", "queue", "others", "cpu", "runnable", "other")
        summed = sum(fsync[f"{part}_ns"] for part in parts)
        assert summed == pytest.approx(fsync["total_ns"], abs=len(parts)), fsync
