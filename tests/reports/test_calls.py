"""Reports of calls, threads, waits and events."""

import pytest

from iowhy.reports import Filters, run
from tests.reports.conftest import MS, T0, Make, S, call, file, request, spent, wait


def by_name(rows: list[dict[str, object]]) -> dict[object, dict[str, object]]:
    return {row["name"]: row for row in rows}


def test_23_fsyncs_of_4099_writes(make: Make) -> None:
    writes = [
        call(i * 1000, 400, "write", bytes=4096, ret=4096, cpu_ns=300, blocked_ns=100)
        for i in range(4099)
    ]
    syncs = [call(5 * S + i * MS, 500_000, "fsync", cpu_ns=10_000) for i in range(23)]
    found = by_name(run(make({"syscalls": writes + syncs}, end_s=6), "syscalls").to_pylist())
    assert {name: row["calls"] for name, row in found.items()} == {"write": 4099, "fsync": 23}
    write = found["write"]
    assert (write["bytes"], write["mean_bytes"]) == (4099 * 4096, 4096)
    assert (write["total_ns"], write["mean_ns"], write["p50_ns"]) == (4099 * 400, 400, 400)
    assert (write["cpu_ns"], write["blocked_ns"]) == (4099 * 300, 4099 * 100)
    assert write["cpu_share"] == pytest.approx(0.75)
    assert found["fsync"]["share"] == pytest.approx(23 * 500_000 / (23 * 500_000 + 4099 * 400))
    assert found["fsync"]["bytes"] is None


def test_errors_unfinished_and_unknown(make: Make) -> None:
    rec = make(
        {
            "syscalls": [
                call(0, 10, "read", ret=-5, bytes=100, cpu_ns=None),
                call(20, 30, "read", ret=7, bytes=100, cpu_ns=15),
                call(60, 50, "read", ret=None, bytes=100, cpu_ns=None),
                call(120, 5, "msync", ret=0, bytes=4096, cpu_ns=None),
                call(130, 5, "msync", ret=-12, bytes=4096, cpu_ns=None),
            ]
        }
    )
    found = by_name(run(rec, "syscalls").to_pylist())
    read = found["read"]
    assert (read["calls"], read["errors"], read["unfinished"]) == (3, 1, 1)
    assert (read["bytes"], read["mean_bytes"], read["cpu_ns"]) == (7, 7, 15)
    assert read["cpu_share"] == pytest.approx(0.5)  # of the call whose CPU time is known
    assert found["msync"]["bytes"] == 4096
    assert (found["msync"]["cpu_ns"], found["msync"]["cpu_share"]) == (None, None)


def test_totals_fill_in_what_is_not_kept(make: Make) -> None:
    total = {"interval_ns": 100 * MS, "tgid": 10, "tid": 10, "errors": 0}
    rec = make(
        {
            "syscalls": [call(0, 10, "read", ret=1)],
            "syscall_totals": [
                {"ts_ns": T0, "name": "read", "calls": 1, "total_ns": 10, **total},
                {"ts_ns": T0, "name": "futex", "calls": 3, "total_ns": 900, "max_ns": 500, **total},
                {
                    "ts_ns": T0 + 1,
                    "name": "futex",
                    "calls": 2,
                    "total_ns": 90,
                    "max_ns": 80,
                    **total,
                },
            ],
        }
    )
    found = by_name(run(rec, "syscalls").to_pylist())
    assert (found["read"]["calls"], found["futex"]["calls"]) == (1, 5)
    assert (found["futex"]["total_ns"], found["futex"]["max_ns"]) == (990, 500)
    assert (found["futex"]["p50_ns"], found["futex"]["blocked_ns"]) == (None, None)
    per_thread = by_name(run(rec, "syscalls-by-thread").to_pylist())
    assert (per_thread["futex"]["calls"], per_thread["futex"]["tid"]) == (5, 10)
    assert per_thread["read"]["calls"] == 1


def test_threads(make: Make) -> None:
    rec = make(
        {
            "threads": [
                {"tid": 10, "tgid": 10, "comm": "main", "start_ns": T0 + S // 2},
                {"tid": 11, "tgid": 10, "comm": "worker", "start_ns": T0, "exit_code": 256},
            ],
            "thread_time": [
                spent(i * 100 * MS, 100 * MS, tid=11, user=20 * MS, kernel=5 * MS, blocked=50 * MS)
                for i in range(4)
            ],
            "syscalls": [
                call(0, 10, "read", tid=11, ret=100),
                call(20, 10, "sendfile", tid=11, ret=7),
                call(40, 10, "write", tid=11, ret=-28),
            ],
        }
    )
    worker, main = run(rec, "threads").to_pylist()
    assert (worker["comm"], worker["tid"], worker["exit_code"]) == ("worker", 11, 256)
    assert (worker["lifetime_ns"], worker["cpu_user_ns"]) == (400 * MS, 80 * MS)
    assert worker["cpu_share"] == pytest.approx(0.25)
    assert (worker["read_bytes"], worker["written_bytes"]) == (107, 7)
    assert (main["start_s"], main["lifetime_ns"], main["read_bytes"]) == (0.5, None, 0)
    assert run(make({}, without=["syscalls"]), "threads").num_rows == 0


def test_waits(make: Make) -> None:
    rec = make(
        {
            "waits": [
                wait(0, 10, "page_read", syscall="read"),
                wait(20, 30, "page_read", syscall="read", tid=11, io=False),
                wait(60, 60, "inode_lock", syscall="write", io=False),
            ]
        }
    )
    lock, read = run(rec, "waits").to_pylist()
    assert (lock["reason"], lock["share"], lock["io_share"]) == ("inode_lock", 0.6, 0)
    assert (read["waits"], read["threads"], read["total_ns"], read["max_ns"]) == (2, 2, 40, 30)
    assert (read["mean_ns"], read["p50_ns"], read["io_share"]) == (20, 20, 0.25)


def test_events_of_one_thread_in_order(make: Make) -> None:
    rec = make(
        {
            "files": [file(2, "/srv/a")],
            "devices": [{"dev": 80, "name": "vda"}],
            "threads": [{"tid": 10, "tgid": 10, "comm": "main", "start_ns": T0}],
            "syscalls": [
                call(1000, 500, "read", offset=8192, bytes=4096, ret=4096, fd=3),
                call(2100, 100, "close", fd=3),
                call(1200, 100, "write", tid=11),
            ],
            "waits": [wait(1000, 300, "page_read")],
            "block_requests": [
                request(1000, 250, "read", sector=16, bytes=4096),
                request(1300, None, "flush", owner_dev=None, owner_ino=None),
                request(1000, 10, "read", in_scope=False),
            ],
        }
    )
    rows = run(rec, "events", Filters(pids=(10,))).to_pylist()
    assert [(r["event"], r["name"]) for r in rows if r["tid"] == 10] == [
        ("call", "read"),
        ("wait", "page_read"),
        ("request", "read"),
        ("request", "flush"),
        ("call", "close"),
    ]
    read, _, sent, flush, close = (r for r in rows if r["tid"] == 10)
    assert (read["at_s"], read["path"], read["offset"], read["comm"]) == (
        1e-6,
        "/srv/a",
        8192,
        "main",
    )
    assert (sent["offset"], sent["dur_ns"], sent["path"]) == (8192, 250, "/srv/a")
    assert (flush["dur_ns"], flush["path"]) == (None, "vda")
    assert (read["since_ns"], close["since_ns"]) == (None, 600)
    assert {r["tid"] for r in run(rec, "events", Filters(pids=(11,))).to_pylist()} == {11}
