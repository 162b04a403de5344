"""What the agent sums up in the kernel is what a known workload did, and what the full recorder sees of it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import RECORDER, program
from machine import ask, disk_number, filesystem, one, python, record
from running_agent import within

pytestmark = pytest.mark.usefixtures("live")

#: What takes so long hangs.
HANGS_S = 60
WRITES, READS, FSYNCS, FDATASYNCS, BLOCK = 53, 211, 37, 11, 4096
WORK = f"""
import os, sys
fd = os.open(sys.argv[1] + "/a", os.O_CREAT | os.O_RDWR)
for number in range({WRITES}):
    os.pwrite(fd, bytes({BLOCK}), number * {BLOCK})
    if number < {FSYNCS}: os.fsync(fd)
for number in range({FDATASYNCS}):
    os.pwrite(fd, b"x", 0)
    os.fdatasync(fd)
for number in range({READS}):
    os.pread(fd, {BLOCK}, number % {WRITES} * {BLOCK})
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.pread(fd, {BLOCK}, 0)
"""


@contextmanager
def aggregating(root: Path, *options: str) -> Iterator[list[dict[str, object]]]:
    """The agent's programs run meanwhile; afterwards its lines are in the list."""
    lines: list[dict[str, object]] = []
    with subprocess.Popen(
        [program(RECORDER), "aggregate", "-o", root, "--every", "1", *options],
        stdout=subprocess.PIPE,
        text=True,
    ) as agent:
        assert agent.stdout is not None
        try:
            assert agent.stdout.readline()  # it counts from here on
            yield lines
        finally:
            agent.send_signal(signal.SIGINT)
            lines += [json.loads(line) for line in agent.stdout]
    assert agent.returncode == 0


def opened(root: Path) -> Recording:
    (found,) = root.iterdir()
    recording = open_recording(found)
    assert recording.manifest.complete
    return recording


def test_counts_bytes_and_times_are_those_of_the_workload(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    root = tmp_path / "agent"
    with filesystem("ext4", tmp_path) as scratch:
        with aggregating(root, "--calls") as lines:
            full = record(python(WORK, scratch.mount), tmp_path / "full.iowhy")
        disk, dev = disk_number(scratch.disk), scratch.dev
    kept = opened(root)
    if not kept.ran("agent_calls"):
        cannot_run(request, "this kernel does not take the programs of calls")
    counted = "SELECT sum(count), sum(bytes), sum(sum_ns) FROM agent_latencies WHERE measure = ? AND name = ? AND dev = ?"
    for name, calls, bytes_ in (
        ("pwrite64", WRITES + FDATASYNCS, WRITES * BLOCK + FDATASYNCS),
        ("pread64", READS + 1, (READS + 1) * BLOCK),
        ("fsync", FSYNCS, 0),
        ("fdatasync", FDATASYNCS, 0),
    ):
        ((count, moved, sum_ns),) = ask(kept, counted, "call", name, dev)
        assert (count, moved) == (calls, bytes_), name
        (seen,) = (
            one(full, "SELECT sum(dur_ns) FROM syscalls WHERE name = ? AND dev = ?", name, dev),
        )
        # Both look at their clocks one after the other, some microseconds apart.
        assert abs(sum_ns - seen) <= 0.3 * seen + 50_000 * calls, name
    # As ext4 itself tells, by its tracepoints: also where no function may be traced.
    assert kept.ran("agent_syncs_ext4")
    for name, calls in (("fsync", FSYNCS), ("fdatasync", FDATASYNCS)):
        ((count, _, within),) = ask(kept, counted, "sync", name, dev)
        ((_, _, around),) = ask(kept, counted, "call", name, dev)
        assert count == calls and 0 < within <= around, name
    wrong = """
        SELECT count(*) FROM agent_latencies l WHERE count - untimed <> (
            SELECT coalesce(sum(b.count), 0) FROM agent_buckets b
            WHERE b.ts_ns = l.ts_ns AND b.measure = l.measure AND b.name IS NOT DISTINCT FROM l.name
                AND b.cgroup IS NOT DISTINCT FROM l.cgroup AND b.dev IS NOT DISTINCT FROM l.dev)
    """
    assert one(kept, wrong) == 0
    # The page that was given up is read again.
    missed = "SELECT sum(bytes) FROM agent_counts WHERE name = 'cache_missed' AND dev = ?"
    assert one(kept, missed, dev) >= BLOCK
    assert kept.manifest.lost() == 0
    requests = "SELECT sum(count), sum(bytes) FROM agent_latencies WHERE measure = 'request' AND name = ? AND dev = ?"
    written = sum(d["writes"] for line in lines for d in line["disks"] if d["dev"] == disk)  # type: ignore[attr-defined]
    assert written >= one(kept, requests.replace(", sum(bytes)", ""), "write", disk) > 0


def test_who_does_not_read_its_lines_keeps_it_from_no_signal(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    nobody, lines = os.pipe()
    os.set_blocking(lines, False)
    with suppress(BlockingIOError):
        while True:
            os.write(lines, bytes(4096))
    os.set_blocking(lines, True)
    argv = [program(RECORDER), "aggregate", "-o", root, "--every", "1"]
    with subprocess.Popen(argv, stdout=lines) as agent:
        try:
            within(HANGS_S, lambda: list(root.glob("*/manifest.json")))
            time.sleep(2.5)  # its first line is due
            agent.send_signal(signal.SIGTERM)
            agent.wait(HANGS_S)
        finally:
            agent.kill()
            os.close(nobody)
            os.close(lines)
    assert agent.returncode == 0
    assert one(opened(root), "SELECT count(*) FROM cpu_samples") > 0


def test_requests_are_those_that_the_recorder_sees(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    with filesystem("ext4", tmp_path) as scratch:
        with aggregating(root):
            full = record(python(WORK, scratch.mount), tmp_path / "full.iowhy")
            # What the recorder does as it ends is not of the workload; the disk is idle then.
        disk = disk_number(scratch.disk)
    kept = opened(root)
    seen = {
        op: (count, bytes_)
        for op, count, bytes_ in ask(
            full,
            """
            SELECT op, count(*), sum(bytes) FROM block_requests
            WHERE dev = ? AND complete_ns IS NOT NULL AND (op <> 'write' OR bytes > 0) GROUP BY op
            """,
            disk,
        )
    }
    for op, (count, bytes_) in seen.items():
        ((found, moved),) = ask(
            kept,
            "SELECT sum(count), sum(bytes) FROM agent_latencies WHERE measure = 'request' AND name = ? AND dev = ?",
            op,
            disk,
        )
        assert found >= count and moved >= bytes_, op
    assert seen["write"][0] > 0 and seen["flush"][0] > 0
    assert not kept.ran("agent_calls")
