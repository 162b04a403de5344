"""Who waits for what, and who loads the devices and the cache."""

from iowhy.reports import Filters, run
from tests.reports.conftest import MS, T0, Make, S, request, spent, wait

CACHE = {"interval_ns": S, "dev": 1, "ino": 2, "estimated": False}


def test_who_waits_and_who_loads(make: Make) -> None:
    """Process 10 waits 300 ms to read and 100 ms for a lock; 77, outside, reads more than it and makes pages dirty."""
    rec = make(
        {
            "threads": [
                {"tid": 10, "tgid": 10, "comm": "suffers", "start_ns": T0, "container": "c1"},
                {"tid": 11, "tgid": 10, "comm": "helper", "start_ns": T0, "container": "c1"},
                {"tid": 20, "tgid": 20, "comm": "idles", "start_ns": T0, "container": ""},
            ],
            "containers": [{"id": "c1", "name": "web", "cgroup": "/a"}],
            "neighbours": [{"tgid": 77, "comm": "noise", "container": ""}],
            "thread_time": [
                spent(0, S, tid=10, user=100 * MS, runnable=50 * MS, blocked=400 * MS),
                spent(0, S, tid=11, kernel=10 * MS),
                spent(0, S, tid=20) | {"tgid": 20},
            ],
            "waits": [
                wait(0, 200 * MS, "page_read"),
                wait(300 * MS, 100 * MS, "direct_io"),
                wait(500 * MS, 100 * MS, "inode_lock"),
            ],
            "block_requests": [
                request(0, 200 * MS, "read", bytes=4096),
                request(0, 900 * MS, "read", bytes=1 << 20, tgid=77, tid=77, in_scope=False),
                request(0, None, "write", bytes=8192, tgid=77, tid=77, in_scope=False),
            ],
            "page_cache": [CACHE | {"ts_ns": T0, "tgid": 10, "evicted_pages": 3}],
            "dirtied_by_others": [
                {"ts_ns": T0, "interval_ns": S, "tgid": 77, "dev": 1, "pages": 9}
            ],
        }
    )
    rows = {row["comm"]: row for row in run(rec, "processes").to_pylist()}
    assert list(rows) == ["suffers", "noise", "idles"]
    suffers, noise, idles = rows.values()
    assert (suffers["waited_ns"], suffers["mostly"]) == (400 * MS, "waiting to read")
    assert suffers["reason"] == "page_read" and suffers["container"] == "web"
    assert (suffers["cpu_ns"], suffers["runnable_ns"], suffers["threads"]) == (110 * MS, 50 * MS, 2)
    assert (suffers["read_bytes"], suffers["request_ns"], suffers["evicted_pages"]) == (
        4096,
        200 * MS,
        3,
    )
    assert suffers["dirtied_pages"] is None
    # What it waited for and had of CPUs is not known, and no 0.
    assert (noise["waited_ns"], noise["cpu_ns"], noise["threads"]) == (None, None, None)
    assert (noise["read_bytes"], noise["written_bytes"], noise["request_ns"]) == (
        1 << 20,
        8192,
        900 * MS,
    )
    assert (noise["requests"], noise["dirtied_pages"], noise["container"]) == (2, 9, None)
    assert (idles["waited_ns"], idles["mostly"], idles["requests"], idles["container"]) == (
        0,
        None,
        0,
        None,
    )
    (only,) = run(rec, "processes", Filters(pids=(20,))).to_pylist()
    assert only["comm"] == "idles"


def test_without_requests_what_was_moved_is_unknown(make: Make) -> None:
    rec = make({"thread_time": [spent(0, S)]}, without=["block_requests"])
    (row,) = run(rec, "processes").to_pylist()
    assert (row["comm"], row["requests"], row["read_bytes"], row["request_ns"]) == (None,) * 4
