"""The class of the time budget that each wait is of: by its reason, by its call, by the words of other tools."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.recordings import Manifest, Recording
from iowhy.recordings.writer import write_recording
from iowhy.relations import Relations
from iowhy.tables import budget_classes, calls, reasons, rules
from tests.reports.conftest import MS, Make, call, file, wait

WAITS = [
    ("page_read", "read", True, "read"),
    ("page_read", "write", True, "read"),
    ("page_read", "fsync", True, "sync"),
    ("page_read", None, True, "read"),  # a page fault
    ("metadata_read", "openat", True, "read"),
    ("metadata_read", "fsync", True, "sync"),
    ("direct_io", "pread64", True, "read"),
    ("direct_io", "pwrite64", True, "write"),
    ("direct_io", "sendfile", True, "read"),
    ("direct_io", "copy_file_range", True, "write"),
    ("direct_io", None, True, "read"),
    ("direct_io", "io_submit", True, "collect"),
    ("direct_io", "io_uring_enter", True, "collect"),
    ("journal_commit", "pwrite64", False, "sync"),  # O_SYNC
    ("journal_commit", "fdatasync", False, "sync"),
    ("log_force", "fsync", False, "sync"),
    ("device_flush", "fsync", True, "sync"),
    ("device_flush", None, True, "sync"),
    ("page_writeback", "fsync", True, "sync"),
    ("page_writeback", "pwrite64", True, "sync"),  # O_SYNC
    ("page_writeback", "ftruncate", True, "write"),
    ("page_writeback", None, True, "write"),
    ("stable_page", "pwrite64", True, "write"),
    ("make_room", "pwrite64", True, "write"),  # no O_SYNC: nobody asked for it
    ("make_room", "fallocate", True, "write"),
    ("make_room", None, True, "write"),
    ("make_room", "fsync", True, "sync"),
    ("discard", "ioctl", True, "write"),  # fstrim
    ("discard", "fsync", True, "sync"),
    ("journal_space", "unlink", False, "write"),
    ("journal_space", "rename", False, "write"),
    ("inode_freeing", "unlinkat", False, "write"),
    ("inode_freeing", "close", False, "write"),
    ("dirty_throttle", "write", False, "throttled"),
    ("io_throttle", "fsync", False, "throttled"),
    ("writeback_throttle", "write", True, "write"),
    ("writeback_throttle", "fsync", True, "sync"),
    ("request_queue_full", "read", True, "read"),
    ("request_queue_full", "pwrite64", True, "write"),
    ("request_queue_full", "msync", True, "sync"),
    ("request_queue_full", "openat", True, "read"),
    ("swap", None, True, "memory"),
    ("swap", "read", True, "memory"),
    ("memory_reclaim", "read", False, "memory"),
    ("inode_lock", "fsync", False, "lock"),
    ("metadata_lock", "unlink", False, "lock"),
    ("memory_map_lock", None, False, "lock"),
    ("page_lock", "fsync", False, "sync"),
    ("page_lock", "ftruncate", False, "write"),
    ("page_lock", None, False, "read"),
    ("fuse", "openat", False, "read"),
    ("fuse", "pread64", False, "read"),
    ("fuse", "statx", False, "read"),
    ("network_filesystem", "write", False, "write"),
    ("fuse", "sendfile", False, "read"),
    ("fuse", "copy_file_range", False, "write"),
    ("peer", "sendfile", False, "idle"),
    ("userfault", None, False, "idle"),
    ("fuse", None, False, "read"),
    ("fuse", "close", False, "write"),
    ("fuse", "exit_group", False, "write"),
    ("fuse", "ioctl", False, "read"),
    ("network_filesystem", None, False, "read"),
    ("interruptible_sleep", "close", False, "idle"),
    ("interruptible_sleep", None, False, "idle"),
    ("vfork", "vfork", False, "idle"),
    ("kernel_sync", "umount2", False, "unexplained"),
    ("other", "openat", True, "write"),  # O_TRUNC frees blocks
    ("other", "fsync", False, "sync"),
    ("other", "ioctl", False, "unexplained"),
    ("other", "ioctl", True, "read"),  # the kernel counts it as I/O wait
    ("other", None, True, "read"),
    # Other tools' words, where the call does not decide.
    ("Writing a page to disk", None, False, "write"),
    ("EXT3: Waiting for journal access", None, False, "sync"),
    ("Writing a page to disk", "read", False, "read"),
    ("block layer, clock", None, False, "unexplained"),
]


def found(rec: Recording) -> dict[tuple[object, object, object], object]:
    with Relations(rec) as relations:
        rows = relations.rows("SELECT reason, syscall, io, class FROM wait_classes")
    return {(reason, syscall, io): cls for reason, syscall, io, cls in rows}


def test_class_of_a_wait(make: Make) -> None:
    rows = [
        wait(at * MS, MS, reason, syscall=syscall, io=io)
        for at, (reason, syscall, io, _) in enumerate(WAITS)
    ]
    expected = {(reason, syscall, io): cls for reason, syscall, io, cls in WAITS}
    assert found(make({"waits": rows}, end_s=10)) == expected


@pytest.mark.parametrize(("durable", "cls"), [(None, "sync"), (True, "sync"), (False, "write")])
def test_writeback_in_a_write_is_sync_where_that_was_asked_for(
    make: Make, durable: bool | None, cls: str
) -> None:
    """Flags say so. Where they are not told it is taken for it, and a commit always is one."""
    rows = [
        wait(0, MS, reason, syscall="pwrite64") for reason in ("page_writeback", "device_flush")
    ]
    calls_ = [
        call(0, MS, "pwrite64") | {"durable": durable},
        call(2 * MS, MS, "pwrite64") | {"durable": None if durable is None else False},
        call(4 * MS, MS, "write") | {"durable": not durable},
    ]
    assert found(make({"waits": rows, "syscalls": calls_})) == {
        ("page_writeback", "pwrite64", True): cls,
        ("device_flush", "pwrite64", True): "sync",
    }


def test_every_reason_of_the_recorder_in_every_call_has_a_class(make: Make) -> None:
    """None of a known reason in a known call is left to chance; unexplained is only what is known to be."""
    rows = [
        wait(0, MS, reason, syscall=syscall)
        for reason in reasons()
        for syscall in (*(one.name for one in calls().values() if one.kind), None)
    ]
    given = found(make({"waits": rows}))
    assert set(given.values()) <= {*budget_classes(), "collect"}
    unexplained = {reason for (reason, _, _), cls in given.items() if cls == "unexplained"}
    assert unexplained == {"kernel_sync"}


def test_the_table_of_reasons_is_whole() -> None:
    # What no rule matches is `other`, which is in no table, or a sleep that a signal may end.
    assert {rule.reason for rule in rules()} | {"interruptible_sleep"} == set(reasons())
    for one in reasons().values():
        assert one.budget_class in {*budget_classes(), "writeback", "call"}, one.name
        assert one.budget_class == "call" or (one.opening is None and one.outside is None), one.name


def test_a_worker_of_io_uring_waits_for_what_was_submitted(make: Make) -> None:
    threads = [
        {"tid": 10, "tgid": 10, "comm": "iou-wrk-10", "start_ns": 0},
        {"tid": 11, "tgid": 10, "comm": "main", "start_ns": 0},
    ]
    waits = [
        wait(0, MS, "direct_io"),
        wait(0, MS, "direct_io", tid=11),
        wait(0, MS, "page_read", tid=10),
    ]
    assert found(make({"waits": waits, "threads": threads})) == {
        ("direct_io", "io_uring worker", True): "collect",
        ("direct_io", None, True): "read",
        ("page_read", "io_uring worker", True): "read",
    }


def test_calls_stand_in_for_waits_that_were_not_recorded(make: Make) -> None:
    rows = [
        call(0, MS, name) for name in ("read", "openat", "fsync", "unlink", "io_submit", "futex")
    ]
    assert found(make({"syscalls": rows}, without=["waits"])) == {
        (None, "read", None): "read",
        (None, "openat", None): "read",
        (None, "fsync", None): "sync",
        (None, "unlink", None): "write",
        (None, "io_submit", None): "collect",
        (None, "futex", None): "unexplained",
    }
    # With the sensor, a call that was blocked without a wait has none that is known.
    assert found(make({"syscalls": rows})) == {}


@pytest.fixture
def printed(tmp_path: Path) -> Callable[[dict[str, float]], Recording]:
    def make(totals: dict[str, float]) -> Recording:
        rows = [
            {"tool": "LatencyTOP", "subject": subject, "metric": "total_ns", "value": value}
            for subject, value in totals.items()
        ]
        manifest = Manifest.made(source="diagnose", mode="paste")
        return write_recording(tmp_path / "x", manifest, {"measurements": rows})

    return make


def test_words_that_latencytop_prints(printed: Callable[[dict[str, float]], Recording]) -> None:
    rec = printed({"fdatasync() system call": 3e6, "Page fault": 1e6, "Reading from a pipe": 2e6})
    assert found(rec) == {
        ("fdatasync() system call", "fdatasync", None): "sync",
        ("Page fault", None, None): "unexplained",
        ("Reading from a pipe", None, None): "read",
    }


def test_sleep_for_storage(make: Make) -> None:
    def asleep(name: str, ino: int | None) -> dict[str, object]:
        return call(0, MS, name, ino=ino, blocked_ns=0, sleeping_ns=MS)

    rec = make(
        {
            "files": [
                file(2, "/srv/a"),
                file(3, None, "pipe"),
                file(4, "/srv", "directory"),
                file(2, "/far/a", dev=9),
            ],
            "filesystems": [
                {"dev": dev, "kind": kind, "mount": mount, "options": "rw"}
                for dev, kind, mount in ((1, "ext4", "/srv"), (9, "fuse.sshfs", "/far"))
            ],
            "syscalls": [
                # Who opens a pipe waits for the other end: only a process that serves the file reads then.
                asleep("openat", 2) | {"dev": 9},
                *(asleep(name, 2) for name in ("read", "pwrite64", "fsync", "openat", "futex")),
                asleep("read", 3),
                asleep("read", None),
                asleep("getdents64", 4),
                asleep("io_submit", None),
                asleep("io_uring_enter", None),
                # By an eventfd or an epoll they wait for a ring; io_submit does not, though it has one.
                asleep("read", 3) | {"ring": 7},
                asleep("epoll_wait", None) | {"ring": 8},
                asleep("ppoll", None),
                asleep("io_submit", None) | {"ring": 8},
                call(0, MS, "io_getevents", ino=None),
            ],
        }
    )
    with Relations(rec) as relations:
        rows = relations.rows("SELECT syscall, class, ring FROM storage_sleeps ORDER BY 1, 2")
    assert rows == [
        ("epoll_wait", "collect", 8),
        ("fsync", "sync", None),
        ("getdents64", "read", None),
        ("io_uring_enter", "collect", None),
        ("openat", "read", None),
        ("pwrite64", "write", None),
        ("read", "collect", 7),
        ("read", "read", None),
    ]
