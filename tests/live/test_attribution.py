"""Requests are charged to whom they belong; sync and journal agree with the kernel's own counts."""

import subprocess
import time
from pathlib import Path

import pytest

from iowhy.reports.engine import run as report
from iowhy.whys.verdict import judge
from machine import ask, disk_counters, disk_number, filesystem, one, python, record, run, work

pytestmark = pytest.mark.usefixtures("live")

SYNCED = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(23): os.write(fd, bytes(8192)); os.fsync(fd)
"""


UNTIL_READ = """
import time
def reads():
    lines = (line.split() for line in open("/proc/diskstats"))
    return next(int(fields[3]) for fields in lines if fields[2] == sys.argv[2])
begun = reads()
while reads() < begun + 20: time.sleep(0.01)
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
            # The command reads a page of the neighbour's file too, and lasts until that has read on.
            code = f"open({str(other)!r}, 'rb').read(1)" + SYNCED + UNTIL_READ
            program = python(code, scratch.mount / "mine", scratch.disk)
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


@pytest.mark.disturbed_by("cpu", "disk")
@pytest.mark.usefixtures("before_others")
def test_a_neighbour_that_keeps_the_device_busy_is_named(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        mine, other = scratch.mount / "mine", scratch.mount / "other"
        for file in (mine, other):
            file.write_bytes(bytes(32 * 2**20))
        run("sync", "-f", str(scratch.mount))
        hammering = work("randread", "--file", other, "--threads", "6", "--for-seconds", "60")
        neighbour = subprocess.Popen([str(a) for a in hammering], stdout=subprocess.DEVNULL)
        try:
            idle = disk_counters(scratch.disk)["reads"]
            while disk_counters(scratch.disk)["reads"] < idle + 100:
                assert neighbour.poll() is None, "the neighbour has ended"
                time.sleep(0.01)
            reading = work("randread", "--file", mine, "--threads", "1", "--for-seconds", "0.7")
            recording = record(reading, tmp_path / "a.iowhy")
        finally:
            neighbour.kill()
            neighbour.wait()
    findings = {finding.cause: finding for finding in judge(recording).findings}
    contended = findings.get("device-contended")
    assert contended is not None, findings.keys()
    who = f"iowhy-work (process {neighbour.pid})"
    assert any(who in link.statement for link in contended.chain), contended
    device = next(
        row for row in report(recording, "devices").to_pylist() if row["device"] == scratch.disk
    )
    assert device["others_most"] == f"iowhy-work ({neighbour.pid})"
    assert device["others_share"] > 0.5
    assert device["unowned_share"] == 0


#: The command itself reads how many transactions were committed, when none is under way: the journal
#: commits every five seconds too, and whenever anybody calls sync(2).
COMMITS = """
import os, sys, time
def commits():
    def number(): return int(open(sys.argv[2]).read().split()[0])
    seen = None
    while seen != number():
        seen, at = number(), time.monotonic_ns()
        time.sleep(0.1)
    with open(sys.argv[3], "a") as answers: print(at, seen, file=answers)
commits()
"""


def test_the_journal_commits_are_those_of_the_kernel(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        info = next(Path("/proc/fs/jbd2").glob(f"{scratch.disk}-*/info"))

        answers = tmp_path / "transactions"
        code = COMMITS + SYNCED + "commits()\n"
        recording = record(python(code, scratch.mount / "f", info, answers), tmp_path / "a.iowhy")
    (start, before), (end, after) = (
        (int(at), int(number)) for at, number in map(str.split, answers.read_text().splitlines())
    )
    assert after - before >= 23
    counted = one(
        recording,
        "SELECT count(*) FROM journal_commits WHERE dev = ? AND kind = 'jbd2'"
        " AND ts_ns + coalesce(dur_ns, 0) BETWEEN ? AND ?",
        scratch.dev,
        start,
        end,
    )
    assert counted == after - before


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


#: Three threads that sync at the same time, writes that are durable each, and sync(2) for many files.
SYNCING = """
import os, sys, threading
folder = sys.argv[1]
def opened(name, flags=0): return os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY | flags)
def writer(number):
    fd = opened(number)
    for turn in range(20):
        os.pwrite(fd, os.urandom(32768), turn * 32768)
        (os.fsync if number else os.fdatasync)(fd)
threads = [threading.Thread(target=writer, args=(number,)) for number in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
fd = opened("durable", os.O_SYNC)
for _ in range(10): os.write(fd, bytes(8192))
for number in range(100):
    fd = opened(f"many{number}")
    os.write(fd, bytes(65536))
    os.close(fd)
os.sync()
"""


@pytest.mark.disturbed_by("cpu", "disk")
@pytest.mark.usefixtures("before_others")
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_the_parts_of_sync_sum_to_the_calls(tmp_path: Path, kind: str) -> None:
    with filesystem(kind, tmp_path) as scratch:
        recording = record(python(SYNCING, scratch.mount), tmp_path / "a.iowhy")
    rows = {row["name"]: row for row in report(recording, "sync").to_pylist()}
    assert {name: row["calls"] for name, row in rows.items()} == {
        "fsync": 40,
        "fdatasync": 20,
        "write (O_SYNC)": 10,
        "sync": 1,
    }
    parts = ("own_data", "journal", "flush", "queue", "others", "cpu", "runnable", "other")
    for name, row in rows.items():
        summed = sum(row[f"{part}_ns"] for part in parts)
        assert summed == pytest.approx(row["total_ns"], abs=len(parts)), row
        total = one(
            recording,
            "SELECT sum(dur_ns)::BIGINT FROM syscalls WHERE name = ?"
            " AND (name <> 'write' OR bytes = 8192)",
            name.removesuffix(" (O_SYNC)"),
        )
        assert row["total_ns"] == total, row
        assert all(row[f"{part}_ns"] >= -1 for part in parts), row
        # Each of them waits for its pages, the journal and the device, and for next to nothing else.
        assert row["own_data_ns"] > 0 and row["journal_ns"] + row["flush_ns"] > 0, row
        assert row["flush_ns"] > 0 and row["cpu_ns"] > 0, row
        assert row["other_ns"] <= 0.25 * row["total_ns"], row


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_waiting_for_a_discard_is_named(tmp_path: Path, kind: str) -> None:
    """Told apart from reading the maps of free space; XFS does not wait for it (Linux 6.6 on)."""
    with filesystem(kind, tmp_path) as scratch:
        recording = record(["fstrim", scratch.mount], tmp_path / "a.iowhy")
        requests = ask(
            recording,
            "SELECT count(*) FROM block_requests WHERE dev = ? AND op = 'discard'",
            disk_number(scratch.disk),
        )
    assert requests[0][0] != 0
    waited = ask(
        recording,
        "SELECT w.reason, s.frames FROM waits w LEFT JOIN stacks s USING (stack_id)"
        " WHERE w.syscall = 'ioctl'",
    )
    for reason, frames in waited:
        discards = "blkdev_issue_discard" in (frames or ())  # type: ignore[operator]
        assert (reason == "discard") == discards, (reason, frames)
        assert reason != "other", frames
    if kind != "xfs":
        assert "discard" in {reason for reason, _ in waited}, waited


def test_a_log_force_lasts_to_the_end_of_its_call(tmp_path: Path) -> None:
    """XFS tells only when one begins: at least one in each call that makes something durable."""
    with filesystem("xfs", tmp_path) as scratch:
        recording = record(python(SYNCING, scratch.mount), tmp_path / "a.iowhy")
    forces = ask(
        recording,
        "SELECT ts_ns, dur_ns FROM journal_commits WHERE dev = ? AND kind = 'xfs-log-force'"
        " AND dur_ns IS NOT NULL",
        scratch.dev,
    )
    calls = ask(
        recording,
        "SELECT ts_ns, dur_ns FROM syscalls WHERE name IN ('fsync', 'fdatasync', 'sync')"
        " OR (name = 'write' AND bytes = 8192)",
    )
    ends = {int(str(start)) + int(str(length)) for start, length in calls}
    assert {int(str(start)) + int(str(length)) for start, length in forces} <= ends
    assert len(forces) >= 40
    busy = next(row for row in report(recording, "journal").to_pylist() if row["kind"] != "jbd2")
    assert 0 < busy["busy_share"] <= 1
