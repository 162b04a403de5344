"""Reports between call and device: files, layout, cache, writeback, journal, amplification, system."""

import pytest

from iowhy.recording import Recording
from iowhy.reports import Filters, run
from tests.reports.conftest import MS, T0, Make, S, call, file, filesystem, request, wait

LOOP = {"dev": 70, "name": "loop0", "below_dev": 80}
VDA = {"dev": 80, "name": "vda"}
KIB = 1024


def stacked(make: Make, **more: object) -> Recording:
    """A file on loop0 over vda: 8 KiB written as two pages, one 8 KiB request, seen twice."""
    return make(
        {
            "files": [file(2, "/mnt/a"), file(3, None, "pipe"),
                file(4, "/dev/zero", "device"), file(9, "/var/image", dev=5)],
            "filesystems": [filesystem(disk=70), filesystem(disk=80, dev=5)],
            "devices": [LOOP, VDA],
            "syscalls": [
                call(0, MS, "pwrite64", bytes=4000, ret=4000),
                call(2 * MS, MS, "write", bytes=4192, ret=4192),
                call(4 * MS, MS, "read", bytes=100, ret=50),
                call(5 * MS, MS, "read", bytes=100, ret=0),
                call(6 * MS, MS, "write", ino=3, ret=1000),
                call(7 * MS, MS, "read", ino=4, ret=1000),
                call(8 * MS, 5 * MS, "fsync"),
            ],
            "page_cache": [
                {
                    "ts_ns": T0,
                    "interval_ns": 100 * MS,
                    "tgid": 10,
                    "dev": 1,
                    "ino": 2,
                    "lookup_pages": 4,
                    "demand_miss_pages": 1,
                    "dirtied_pages": 2,
                    "estimated": False,
                }
            ],
            "block_requests": [
                request(8 * MS, MS, bytes=8192, dev=70),
                request(8 * MS, MS, bytes=8192, dev=80, sector=5000),
                request(9 * MS, MS, bytes=4096, dev=70, owner_dev=None, owner_ino=None,
                        owner_kind="journal", in_scope=None, sector=800),
                request(9 * MS, MS, bytes=4096, dev=80, owner_dev=None, owner_ino=None,
                        owner_kind="journal", in_scope=None, sector=9000),
                request(10 * MS, None, bytes=0, dev=70, owner_kind="flush", issue_ns=None),
                request(10 * MS, MS, "flush", dev=70, owner_dev=None, owner_ino=None, in_scope=None),
                request(10 * MS, MS, "flush", dev=80, owner_dev=None, owner_ino=None, in_scope=None),
                request(10 * MS, MS, "read", bytes=1 << 20, owner_ino=77, in_scope=False),
            ],
        },
        **more,
    )  # fmt: skip


def test_amplification_counts_stacked_devices_once(make: Make) -> None:
    rows = run(stacked(make), "amplification").to_pylist()
    found = {(r["layer"], r["what"]): r for r in rows}
    assert {key: (r["operations"], r["bytes"]) for key, r in found.items()} == {
        ("asked", "read"): (1, 50),
        ("asked", "write"): (2, 8192),
        ("asked", "sync"): (1, 0),
        ("page cache", "lookup"): (4, 16384),
        ("page cache", "read on demand"): (1, 4096),
        ("page cache", "dirtied"): (2, 8192),
        ("requests", "write data"): (1, 8192),
        ("requests", "write journal"): (1, 4096),
        ("requests", "flush"): (1, 0),
        ("device loop0", "write"): (2, 12288),
        ("device loop0", "flush"): (1, 0),
        ("device vda", "read"): (1, 1 << 20),
        ("device vda", "write"): (2, 12288),
        ("device vda", "flush"): (1, 0),
    }
    assert found["requests", "write journal"]["bytes_ratio"] == 0.5
    assert found["requests", "write data"]["operations_ratio"] == 0.5
    assert found["page cache", "lookup"]["bytes_ratio"] == pytest.approx(16384 / 50)
    assert found["requests", "flush"]["bytes_ratio"] is None
    assert found["asked", "sync"]["bytes_ratio"] is None


def test_amplification_of_mapped_writes(make: Make) -> None:
    rec = make(
        {
            "filesystems": [filesystem()],
            "syscalls": [call(0, MS, "msync", bytes=4 << 20)],
            "block_requests": [request(i, MS, sector=i * 99) for i in range(1013)],
        },
        without=["page_cache"],
    )
    found = {(r["layer"], r["what"]): r for r in run(rec, "amplification").to_pylist()}
    assert ("page cache", "lookup") not in found
    assert found["requests", "write data"]["operations_ratio"] == 1013
    assert found["requests", "write data"]["bytes_ratio"] == pytest.approx(1013 / 1024)


def test_files(make: Make) -> None:
    rows = {r["path"]: r for r in run(stacked(make), "files").to_pylist()}
    assert set(rows) == {"/mnt/a", "/dev/zero"}  # no pipe, and no file that only others use
    row = rows["/mnt/a"]
    assert (row["calls"], row["time_ns"], row["sync_ns"]) == (5, 9 * MS, 5 * MS)
    assert (row["read_bytes"], row["written_bytes"]) == (50, 8192)
    assert (row["requests"], row["request_bytes"], row["mean_request_bytes"]) == (1, 8192, 8192)
    assert (row["lookup_pages"], row["miss_pages"], row["dirtied_pages"]) == (4, 1, 2)
    assert (row["extents_before"], row["extents_after"]) == (None, None)


def test_files_without_sensors(make: Make) -> None:
    rec = make({"syscalls": [call(0, MS, "read", ret=5)]}, without=["block_requests", "lookups"])
    (row,) = run(rec, "files").to_pylist()
    assert (row["read_bytes"], row["requests"], row["lookup_pages"]) == (5, None, None)
    assert row["dirtied_pages"] == 0


def pages(ino: int, **counts: int) -> dict[str, object]:
    """A row of page_cache."""
    told: dict[str, object] = {"ts_ns": T0, "interval_ns": MS, "tgid": 10, "dev": 1, "ino": ino}
    return told | {"estimated": False} | counts


def test_what_no_call_tells_was_asked_is_unknown_not_nothing(make: Make) -> None:
    direct = {"owner_page": None, "bytes": 1 << 20}
    rec = make(
        {
            "files": [file(n, f"/srv/{n}") for n in range(2, 9)],
            "syscalls": [
                *(call(0, MS, "openat", ino=n, ret=3) for n in range(2, 8)),
                call(MS, MS, "read", ino=5, ret=832),
                call(MS, MS, "copy_file_range", ino=6, ret=1 << 20),
                call(MS, MS, "pread64", ino=8, ret=(1 << 20) - 3000),
            ],
            "page_cache": [pages(3, minor_faults=1), pages(7, dirtied_pages=256)],
            "block_requests": [
                request(MS, MS, "read", owner_ino=4, **direct),  # libaio alone
                request(MS, MS, "read", owner_ino=5, **direct),  # and one read beside it
                request(MS, MS, "read", owner_ino=8, **direct),  # O_DIRECT, up to the end
            ],
        }
    )
    asked = {r["path"]: r["asked_bytes"] for r in run(rec, "files").to_pylist()}
    assert asked == {
        "/srv/2": 0,  # opened, no more
        "/srv/3": None,  # mapped
        "/srv/4": None,
        "/srv/5": None,
        "/srv/6": 1 << 20,
        "/srv/7": None,  # what a copy went to
        "/srv/8": (1 << 20) - 3000,
    }


def test_files_that_come_and_go_under_one_path_are_one_row(make: Make) -> None:
    rec = make(
        {
            "files": [
                *({**file(n, "/srv/db-journal"), "deleted": n < 4} for n in (2, 3, 4)),
                file(5, None),
                file(6, None),
            ],
            "syscalls": [call(n * MS, MS, "write", ino=n, ret=100) for n in (2, 3, 4, 5, 6)],
            "block_requests": [
                request(9 * MS, MS, owner_ino=2, owner_page=0),
                request(9 * MS, 3 * MS, owner_ino=3, owner_page=0, sector=8),
            ],
        }
    )
    rows = run(rec, "files").to_pylist()
    first = rows[0]
    assert (first["path"], first["inodes"], first["ino"], first["deleted"]) == (
        "/srv/db-journal",
        3,
        None,
        False,
    )
    assert (first["calls"], first["asked_bytes"], first["requests"]) == (3, 300, 2)
    assert (first["request_ns"], first["jump_share"]) == (4 * MS, 0)
    assert [(r["path"], r["ino"]) for r in rows[1:]] == [(None, 5), (None, 6)]


def test_the_file_that_does_the_io_comes_first(make: Make) -> None:
    """Its time in calls is nothing where it is read through mapped memory or asynchronous calls."""
    rec = make(
        {
            "files": [file(2, "/sys/stat"), file(3, "/srv/data")],
            "syscalls": [call(0, 2 * MS, "read", ret=100)],
            "block_requests": [request(n * MS, MS, "read", owner_ino=3) for n in range(5)],
        }
    )
    assert [r["path"] for r in run(rec, "files").to_pylist()] == ["/srv/data", "/sys/stat"]


def extent(logical: int, physical: int | None, size: int, **more: object) -> dict[str, object]:
    """Sizes in KiB."""
    place = None if physical is None else physical * KIB
    row = {"phase": "after", "dev": 1, "ino": 2, "logical_bytes": logical * KIB}
    return row | {"physical_bytes": place, "bytes": size * KIB, "flags": []} | more


@pytest.mark.parametrize(
    ("extents", "runs", "sequentiality"),
    [
        ([extent(0, 1000, 64)], 1, 1.0),
        ([extent(0, 1000, 4)], 1, 1.0),  # one block has no neighbours to be apart from
        ([extent(0, 1000, 64), extent(64, 1064, 64)], 1, 1.0),  # split, yet contiguous
        ([extent(0, 1000, 64), extent(64, 5000, 64)], 2, 30 / 31),
        ([extent(0, 1000, 64), extent(128, 1128, 64)], 1, 1.0),  # a hole, its place kept
        ([extent(0, 1000, 64), extent(128, 1064, 64)], 1, 1.0),  # a hole, packed
        ([extent(0, 1000, 64), extent(128, 1100, 64)], 2, 30 / 31),
        ([extent(0, None, 1, flags=["inline"])], 1, None),
        ([extent(0, 1000, 64), extent(64, None, 64, flags=["delalloc"])], 2, 1.0),
        ([extent(i * 4, 100_000 - i * 8, 4) for i in range(100)], 100, 0.0),
        ([extent(0, 9000, 4), extent(4, 1000, 4), extent(8, 1004, 8)], 2, 2 / 3),
    ],
)
def test_layout(
    make: Make, extents: list[dict[str, object]], runs: int, sequentiality: float | None
) -> None:
    rec = make({"extents": extents[::-1], "filesystems": [filesystem()], "files": [file(2, "/a")]})
    (row,) = run(rec, "layout").to_pylist()
    assert (row["path"], row["extents"], row["mapped_extents"]) == ("/a", runs, len(extents))
    assert row["sequentiality"] == (None if sequentiality is None else pytest.approx(sequentiality))
    (cost,) = run(rec, "files").to_pylist()
    assert cost["extents_after"] == runs


def test_layout_before_after_and_by_whom(make: Make) -> None:
    def made_by(tid: int, at: int) -> dict[str, object]:
        return {
            "ts_ns": T0 + at,
            "tgid": 10,
            "tid": tid,
            "dev": 1,
            "ino": 2,
            "logical_block": at,
            "blocks": 2,
        }

    rec = make(
        {
            "extents": [
                extent(0, 1000, 100, phase="before"),
                extent(0, 1000, 8, flags=["unwritten"]),
                extent(8, 2000, 16, flags=["shared"]),
                extent(24, 3000, 24),
            ],
            "allocations": [made_by(t, i) for i, t in enumerate([1, 2, 1, 1, 2])],
            "filesystems": [filesystem()],
        }
    )
    before, after = run(rec, "layout").to_pylist()
    assert (before["phase"], before["extents"], before["allocations"]) == ("before", 1, None)
    assert (after["phase"], after["extents"]) == ("after", 3)
    assert (after["median_extent_bytes"], after["largest_extent_bytes"]) == (16 * KIB, 24 * KIB)
    assert (after["unwritten_bytes"], after["shared_bytes"]) == (8 * KIB, 16 * KIB)
    assert (after["allocations"], after["allocating_threads"]) == (5, 2)
    assert after["allocated_bytes"] == 5 * 2 * 4096
    assert after["interleaved_share"] == 0.75


def test_layout_of_a_file_that_was_only_allocated(make: Make) -> None:
    made = {"ts_ns": T0, "dev": 1, "ino": 2, "blocks": 2}
    (row,) = run(make({"allocations": [made]}), "layout").to_pylist()
    assert (row["phase"], row["allocations"]) == ("after", 1)
    unknown = ("extents", "sequentiality", "bytes", "allocated_bytes", "interleaved_share", "path")
    assert [row[name] for name in unknown] == [None] * 6


def cached(at_ms: int, ino: int | None, lookups: int | None, **more: object) -> dict[str, object]:
    row: dict[str, object] = {"ts_ns": T0 + at_ms * MS, "interval_ns": 100 * MS, "tgid": 10}
    dev = None if ino is None else 1
    return row | {"dev": dev, "ino": ino, "lookup_pages": lookups, "estimated": False} | more


def test_cache(make: Make) -> None:
    rec = make(
        {
            "files": [file(2, "/a"), file(3, "/b")],
            "page_cache": [
                # Cold with readahead: 10 missed, 90 brought ahead and hit; then warm.
                cached(
                    0, 2, 100, demand_miss_pages=10, readahead_pages=98, prefetched_hit_pages=90
                ),
                cached(300, 2, 100, demand_miss_pages=0, prefetched_hit_pages=0),
                cached(300, 3, 50, demand_miss_pages=50, prefetched_hit_pages=0, refault_pages=20),
                cached(300, 3, None, dirtied_pages=7),
            ],
        }
    )
    total, a, b = run(rec, "cache").to_pylist()
    assert (total["path"], a["path"], b["path"]) == ("all files", "/a", "/b")
    assert (a["lookup_pages"], a["miss_pages"], a["prefetched_pages"]) == (200, 10, 90)
    assert (a["hit_ratio"], a["present_ratio"]) == (0.5, 0.95)
    assert a["unused_readahead_pages"] == 8
    assert (b["hit_ratio"], b["refault_pages"], b["dirtied_pages"]) == (0, 20, 7)
    assert (a["dirtied_pages"], a["major_faults"]) == (None, None)  # nothing said: unknown
    assert b["unused_readahead_pages"] is None
    assert (total["lookup_pages"], total["miss_pages"], total["hit_ratio"]) == (250, 60, 0.4)
    over_time = run(rec, "cache-over-time").to_pylist()
    assert [(r["at_s"], r["hit_ratio"]) for r in over_time] == [
        (0, 0),
        (pytest.approx(0.3), 100 / 150),
    ]


def test_cache_of_the_whole_machine(make: Make) -> None:
    rec = make({"page_cache": [cached(0, None, 1000, demand_miss_pages=935, tgid=None)]})
    (row,) = run(rec, "cache").to_pylist()
    assert (row["path"], row["hit_ratio"]) == ("all files", 0.065)


def test_writeback(make: Make) -> None:
    def one(at: int, ino: int, pages: int, reason: str = "background") -> dict[str, object]:
        row = {"ts_ns": T0 + at, "dev": 1, "ino": ino, "reason": reason, "pages_written": pages}
        return row | {"tgid": 5, "tid": 5, "dur_ns": 10}

    rec = make(
        {
            "filesystems": [filesystem()],
            "writeback": [one(i, i % 4, 16) for i in range(9)] + [one(20, 0, 1000, "fsync")],
        }
    )
    rows = {r["reason"]: r for r in run(rec, "writeback").to_pylist()}
    row = rows["background"]
    assert (row["filesystem"], row["passes"], row["inodes"], row["pages"]) == ("/srv", 9, 4, 144)
    assert (row["pages_per_pass"], row["small_share"], row["hop_share"]) == (16, 1, 1)
    assert rows["fsync"]["small_share"] == 0
    assert rows["fsync"]["hop_share"] == 0  # the pass before was over the same inode
    assert row["mean_age_ns"] is None


def test_throttle_and_journal(make: Make) -> None:
    pause = {"tgid": 10, "tid": 10, "dirty_pages": 90, "limit_pages": 100}
    commit = {"dev": 1, "kind": "jbd2", "handles": 4, "blocks": 8}
    rec = make(
        {
            "filesystems": [filesystem()],
            "threads": [{"tid": 10, "tgid": 10, "comm": "writer", "start_ns": T0}],
            "dirty_throttle": [
                pause | {"ts_ns": T0 + S // 2, "pause_ns": 10 * MS},
                pause | {"ts_ns": T0 + S, "pause_ns": 30 * MS, "limit_pages": 90},
            ],
            "waits": [wait(0, 44 * MS, "dirty_throttle"), wait(50 * MS, MS, "page_read")],
            "journal_commits": [
                commit | {"ts_ns": T0, "dur_ns": 100 * MS, "logging_ns": 10},
                commit | {"ts_ns": T0 + S, "dur_ns": 300 * MS, "logging_ns": 30, "blocks": 4},
            ],
        },
        end_s=2,
    )
    (row,) = run(rec, "throttle").to_pylist()
    assert (row["comm"], row["pauses"], row["paused_ns"]) == ("writer", 2, 40 * MS)
    assert (row["waited_ns"], row["max_pause_ns"]) == (44 * MS, 30 * MS)
    assert row["dirty_share"] == pytest.approx(0.95)
    assert (row["first_s"], row["last_s"]) == (0.5, 1)
    (row,) = run(rec, "journal").to_pylist()
    assert (row["filesystem"], row["commits"], row["commits_per_s"], row["mean_ns"]) == (
        "/srv",
        2,
        1,
        200 * MS,
    )
    assert row["busy_share"] == pytest.approx(0.2)
    assert (row["logging_ns"], row["locked_ns"]) == (20, None)
    assert (row["blocks"], row["blocks_per_commit"], row["handles_per_commit"]) == (12, 6, 4)


def test_system(make: Make) -> None:
    def cpu(at_ms: int, number: int, user: int, idle: int, iowait: int) -> dict[str, object]:
        row = {"ts_ns": T0 + at_ms * MS, "cpu": number, "user_ns": user * MS, "system_ns": 0}
        return row | {"idle_ns": idle * MS, "iowait_ns": iowait * MS}

    rec = make(
        {
            "cpu_samples": [
                cpu(0, -1, 100, 100, 50), cpu(100, -1, 200, 180, 70),
                cpu(0, 0, 100, 50, 0), cpu(100, 0, 200, 50, 0),
                cpu(0, 1, 0, 50, 50), cpu(100, 1, 0, 130, 45),
            ],
            "vm_samples": [
                {"ts_ns": T0, "procs_running": 2, "context_switches": 100, "page_in_bytes": 0},
                {"ts_ns": T0 + 100 * MS, "procs_running": 4, "context_switches": 150, "page_in_bytes": 4096},
            ],
            "memory_samples": [
                {"ts_ns": T0 + 100 * MS, "free_bytes": 7},
                {"ts_ns": T0 + 190 * MS, "free_bytes": 5},
            ],
        }
    )  # fmt: skip
    first, second = run(rec, "system").to_pylist()
    assert (first["running"], first["user_share"], first["free_bytes"]) == (2, None, None)
    assert (second["user_share"], second["idle_share"], second["iowait_share"]) == (0.5, 0.4, 0.1)
    assert second["busiest_cpu_share"] == 1
    assert (second["switches_per_s"], second["page_in_bytes_per_s"]) == (500, 40960)
    assert (second["free_bytes"], second["steal_share"], second["swap_in_pages_per_s"]) == (
        5,
        None,
        None,
    )


def test_kernel_workers_writes_belong_to_the_file(make: Make) -> None:
    """--pid keeps what a kernel worker wrote for the process's files, not what another process did."""
    rec = make(
        {
            "filesystems": [filesystem()],
            "threads": [{"tid": t, "tgid": t, "comm": "x", "start_ns": T0} for t in (10, 20)],
            "syscalls": [
                call(0, MS, "write", ret=1),
                call(0, MS, "write", ret=1, tid=20, tgid=20),
                call(2 * MS, MS, "write", ret=1, tid=20, tgid=20, ino=3),
            ],
            "block_requests": [
                request(0, MS, tgid=5, tid=5),  # a kernel worker, the file of 10 and 20
                request(MS, MS, tgid=None, tid=None),
                request(2 * MS, MS, tgid=20, tid=20),
                request(3 * MS, MS, tgid=5, tid=5, owner_ino=3),
                request(4 * MS, MS, tgid=10, tid=10, owner_dev=None, owner_ino=None),
            ],
        }
    )
    (row,) = run(rec, "request-pattern", Filters(pids=(10,))).to_pylist()
    assert row["requests"] == 3
