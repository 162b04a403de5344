"""Block requests agree with the kernel's own counters of the device."""

from pathlib import Path

import pytest

from iowhy.recordings import Recording
from iowhy.reports import run
from machine import ask, counters, disk_number, filesystem, one, python, record

pytestmark = pytest.mark.usefixtures("live")

MIXED = """
import os, sys
folder = sys.argv[1]
for number in range(20):
    fd = os.open(f"{folder}/{number}", os.O_CREAT | os.O_RDWR)
    os.write(fd, os.urandom(100_000))
    os.fsync(fd)
    os.close(fd)
os.sync()
fd = os.open(f"{folder}/7", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.read(fd, 100_000)
"""

# The command reads the kernel's counters itself, so that what happens to the device while the
# recorder loads and while it finishes (somebody drops caches, an inode is read again) counts in neither.
# It reads them when nothing is under way: between two readings that are equal.
BETWEEN_COUNTERS = f"""
import sys, time
def now():
    with open("/proc/diskstats") as lines:
        return next(line for line in lines if line.split()[2] == sys.argv[2])
def counters():
    line = None
    while line != now():
        line, at = now(), time.monotonic_ns()
        time.sleep(0.2)
    with open(sys.argv[3], "a") as answers: print(at, line, file=answers, end="")
counters()
{MIXED}
counters()
"""


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_requests_are_those_of_diskstats_in_order_and_named(tmp_path: Path, kind: str) -> None:
    answers = tmp_path / "counters"
    with filesystem(kind, tmp_path) as scratch:
        recording = record(
            python(BETWEEN_COUNTERS, scratch.mount, scratch.disk, answers), tmp_path / "a.iowhy"
        )
        disk = disk_number(scratch.disk)
        files = {path.stat().st_ino for path in scratch.mount.glob("[0-9]*")}
    (start, before), (end, after) = (
        (int(at), counters(line))
        for at, line in (line.split(maxsplit=1) for line in answers.read_text().splitlines())
    )
    # The kernel counts a request when it completes.
    counted = ask(
        recording,
        """
        SELECT count(*) FILTER (op = 'read'), coalesce(sum(bytes) FILTER (op = 'read'), 0),
               count(*) FILTER (op = 'write'), coalesce(sum(bytes) FILTER (op = 'write'), 0),
               count(*) FILTER (op = 'discard'), coalesce(sum(bytes) FILTER (op = 'discard'), 0),
               count(*) FILTER (op = 'flush')
        FROM block_requests WHERE dev = ? AND coalesce(complete_ns, issue_ns) BETWEEN ? AND ?
        """,
        disk,
        start,
        end,
    )[0]
    assert counted == tuple(after[name] - before[name] for name in after)
    assert after["writes"] - before["writes"] >= 20 and after["reads"] > before["reads"]
    assert recording.manifest.lost() == 0
    told = next(
        row for row in run(recording, "devices").to_pylist() if row["device"] == scratch.disk
    )
    assert (told["reads"], told["writes"], told["flushes"]) == (counted[0], counted[2], counted[6])
    _go_through_their_states_in_order(recording, disk)
    if kind != "btrfs":
        _name_their_file_or_kind(recording, disk, files)
    assert _flushes(recording, disk) >= 20


def _go_through_their_states_in_order(recording: Recording, disk: int) -> None:
    assert one(recording, "SELECT count(*) FROM block_requests") > 20  # type: ignore[operator]
    wrong = (
        "SELECT count(*) FROM block_requests WHERE queue_ns > issue_ns OR issue_ns > complete_ns"
    )
    assert one(recording, wrong) == 0
    # Others' disks may fail; this one does not.
    errors = "SELECT count(*) FROM block_requests WHERE error <> 0 AND dev = ?"
    assert one(recording, errors, disk) == 0


def _name_their_file_or_kind(recording: Recording, disk: int, files: set[int]) -> None:
    by_kind = "SELECT owner_kind, count(*) FROM block_requests WHERE dev = ? GROUP BY 1"
    kinds = dict(ask(recording, by_kind, disk))
    assert kinds.get("unknown", 0) == 0, kinds
    assert kinds["journal"] >= 20, kinds  # type: ignore[operator]  # each fsync of a new file commits
    owners = ask(
        recording,
        "SELECT owner_ino, sum(bytes) FROM block_requests"
        " WHERE dev = ? AND op = 'write' AND owner_kind = 'data' GROUP BY 1",
        disk,
    )
    assert len(files) == 20
    assert {ino: size for ino, size in owners if ino in files} == dict.fromkeys(files, 102_400)


def _flushes(recording: Recording, disk: int) -> int:
    counted = one(
        recording,
        "SELECT count(*) FROM block_requests WHERE dev = ?"
        " AND (op = 'flush' OR list_contains(flags, 'preflush'))",
        disk,
    )
    return int(str(counted))


@pytest.mark.parametrize(("kind", "option"), [("ext4", "barrier=0"), ("btrfs", "nobarrier")])
def test_without_barriers_there_are_no_flushes(tmp_path: Path, kind: str, option: str) -> None:
    with filesystem(kind, tmp_path, options=f"noatime,{option}") as scratch:
        recording = record(python(MIXED, scratch.mount), tmp_path / "a.iowhy")
        assert _flushes(recording, disk_number(scratch.disk)) == 0
