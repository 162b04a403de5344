"""The sync report: the parts of fsync-like calls, known in advance."""

import random

import pytest

from iowhy.recordings import Recording
from iowhy.reports import Filters, run
from tests.reports.conftest import MS, Make, call, filesystem, request, wait

PARTS = (
    "own_data_ns",
    "queue_ns",
    "journal_ns",
    "flush_ns",
    "others_ns",
    "cpu_ns",
    "runnable_ns",
    "other_ns",
)


def sync(rec: Recording, filters: Filters | None = None) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in run(rec, "sync", filters).to_pylist()}


def parts(row: dict[str, object]) -> list[object]:
    return [ns and ns // MS for ns in (row[part] for part in PARTS)]


def test_one_fsync_taken_apart(make: Make) -> None:
    """100 ms: 20 own pages, a commit of 60 of which the disk flushes 25, 3 for a lock, CPU 5, …"""
    rec = make(
        {
            "syscalls": [
                call(0, 100 * MS, "fsync", cpu_ns=5 * MS, runnable_ns=2 * MS, blocked_ns=90 * MS)
            ],
            "waits": [
                wait(1 * MS, 20 * MS, "page_writeback"),
                wait(22 * MS, 3 * MS, "inode_lock"),
                wait(30 * MS, 60 * MS, "journal_commit"),
                wait(91 * MS, 4 * MS, "memory_reclaim"),
                wait(95 * MS, 3 * MS, "writeback_throttle"),
            ],
            "block_requests": [
                request(25 * MS, 10 * MS, "flush"),  # 5 ms of it inside the wait
                request(50 * MS, 20 * MS, "flush"),
                request(55 * MS, 5 * MS, "flush"),  # at the same time: counted once
                request(75 * MS, 10 * MS, "flush", dev=99),  # another disk
                request(76 * MS, 10 * MS, "write"),
                request(88 * MS, None, "flush"),  # its completion was not seen
            ],
            "filesystems": [filesystem(disk=80)],
        }
    )
    row = sync(rec)["fsync"]
    assert parts(row) == [20, 3, 35, 25, 3, 5, 2, 7]
    assert row["flush_share"] == pytest.approx(0.25)
    assert (row["calls"], row["files"], row["total_ns"]) == (1, 1, 100 * MS)


def test_a_wait_belongs_to_the_call_it_began_in(make: Make) -> None:
    rec = make(
        {
            "syscalls": [
                call(0, 10 * MS, "fsync"),
                call(20 * MS, 10 * MS, "read"),
                call(40 * MS, 10 * MS, "msync"),
                call(0, 100 * MS, "fdatasync", tid=11),
            ],
            "waits": [
                wait(0, 10 * MS, "device_flush"),
                wait(12 * MS, 5 * MS, "device_flush"),  # between calls: a page fault, say
                wait(20 * MS, 10 * MS, "page_read"),  # in the read
                wait(40 * MS, 12 * MS, "page_writeback"),  # counted up to the end of the call
                wait(5 * MS, 50 * MS, "journal_commit", tid=11),
                wait(0, 50 * MS, "journal_commit", tid=12),  # a thread without calls
            ],
        }
    )
    found = sync(rec)
    assert parts(found["fsync"]) == [0, 0, 0, 10, 0, 0, 0, 0]
    assert parts(found["msync"]) == [10, 0, 0, 0, 0, 0, 0, 0]
    assert parts(found["fdatasync"]) == [0, 0, 50, 0, 0, 0, 0, 50]
    assert set(found) == {"fsync", "msync", "fdatasync"}


def test_writes_that_wait_for_the_log_are_synchronous(make: Make) -> None:
    rec = make(
        {
            "syscalls": [
                call(0, 10 * MS, "pwrite64", ret=4096),
                call(20 * MS, 10 * MS, "pwrite64", ret=4096),
                call(40 * MS, 10 * MS, "write", ret=4096),
                call(60 * MS, 10 * MS, "pwritev", ret=4096),
                call(80 * MS, 10 * MS, "writev", ret=4096),
            ],
            "waits": [
                wait(60 * MS, 4 * MS, "page_writeback"),  # without barriers there is no flush
                wait(80 * MS, 4 * MS, "stable_page"),  # not O_SYNC
                wait(0, 6 * MS, "page_writeback"),
                wait(6 * MS, 3 * MS, "device_flush"),
                wait(20 * MS, 10 * MS, "page_read"),  # reads the block it changes: not O_SYNC
                wait(40 * MS, 10 * MS, "dirty_throttle"),
            ],
        }
    )
    found = sync(rec)
    assert set(found) == {"pwrite64 (O_SYNC)", "pwritev (O_SYNC)"}
    assert parts(found["pwritev (O_SYNC)"]) == [4, 0, 0, 0, 0, 0, 0, 6]
    assert found["pwrite64 (O_SYNC)"]["calls"] == 1
    assert parts(found["pwrite64 (O_SYNC)"]) == [6, 0, 0, 3, 0, 0, 0, 1]


def test_writes_count_as_syncs_by_their_flags_where_those_are_known(make: Make) -> None:
    """One that was asked to be durable is, though it waited for nothing; one that waited, and was not asked, is none."""
    rec = make(
        {
            "syscalls": [
                call(0, 10 * MS, "pwrite64", ret=4096) | {"durable": False},
                call(20 * MS, 10 * MS, "pwrite64", ret=4096, blocked_ns=0) | {"durable": True},
                call(40 * MS, 10 * MS, "copy_file_range", ret=4096) | {"durable": True},
                call(60 * MS, 10 * MS, "pwritev", ret=4096) | {"durable": None},
                call(80 * MS, 10 * MS, "read", ret=4096) | {"durable": True},
            ],
            "waits": [
                wait(0, 6 * MS, "device_flush"),
                wait(40 * MS, 6 * MS, "page_writeback"),
                wait(60 * MS, 6 * MS, "page_writeback"),
                wait(80 * MS, 6 * MS, "page_writeback"),
            ],
        }
    )
    calls = {name: row["calls"] for name, row in sync(rec).items()}
    assert calls == {"pwrite64 (O_SYNC)": 1, "copy_file_range (O_SYNC)": 1, "pwritev (O_SYNC)": 1}


def test_unknown_is_not_zero(make: Make) -> None:
    rec = make(
        {"syscalls": [call(0, 10 * MS, "fsync", cpu_ns=None, runnable_ns=None, blocked_ns=None)]},
        without=["waits", "block_requests"],
    )
    assert parts(sync(rec)["fsync"]) == [None, None, None, None, None, None, None, 10]


def test_parts_sum_to_the_calls(make: Make) -> None:
    """2,000 calls and 3,000 flushes at random: the parts sum, and the flush part is the overlap."""
    rng = random.Random(5)
    calls, waits, flights = [], [], []
    at = 0
    for _ in range(2000):
        dur = rng.randrange(1_000, 500_000)
        blocked = rng.randrange(0, dur)
        calls.append(call(at, dur, "fsync", tid=10, cpu_ns=dur - blocked, blocked_ns=blocked))
        if blocked:
            waits.append(wait(at + (dur - blocked) // 2, blocked, "journal_commit"))
        at += dur + rng.randrange(0, 100_000)
    for _ in range(3000):
        flights.append((rng.randrange(0, at), rng.randrange(1, 300_000)))
    rec = make(
        {
            "syscalls": calls,
            "waits": waits,
            "block_requests": [request(b, n, "flush") for b, n in flights],
            "filesystems": [filesystem()],
        }
    )
    row = sync(rec)["fsync"]
    assert sum(row[part] for part in PARTS) == sum(c["dur_ns"] for c in calls)
    assert row["journal_ns"] + row["flush_ns"] == sum(w["dur_ns"] for w in waits)
    merged: list[list[int]] = []
    for begin, length in sorted(flights):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], begin + length)
        else:
            merged.append([begin, begin + length])
    origin = rec.manifest.command.start_ns
    expected = 0
    for w in waits:
        a, b = w["ts_ns"] - origin, w["ts_ns"] - origin + w["dur_ns"]
        expected += sum(max(0, min(b, y) - max(a, x)) for x, y in merged)
    assert row["flush_ns"] == expected > 0


def test_another_process_flush_counts_under_a_filter(make: Make) -> None:
    """The flush is a kernel worker's: choosing a process or file must not lose it."""
    rec = make(
        {
            "syscalls": [
                call(0, 10 * MS, "fsync"),
                call(0, 9 * MS, "fsync", tid=20, tgid=20, ino=3),
            ],
            "waits": [
                wait(0, 10 * MS, "journal_commit"),
                wait(0, 9 * MS, "log_force", tid=20, tgid=20),
            ],
            "block_requests": [request(0, 4 * MS, "flush", tgid=5, tid=5, in_scope=None)],
            "filesystems": [filesystem()],
            "files": [{"dev": 1, "ino": 2, "path": "/srv/a%_b", "kind": "file"}],
        }
    )
    for filters in (Filters(pids=(10,)), Filters(file="/srv/a%_b"), Filters(file="/srv/a%*")):
        row = sync(rec, filters)["fsync"]
        assert row["calls"] == 1
        assert parts(row) == [0, 0, 6, 4, 0, 0, 0, 0]
