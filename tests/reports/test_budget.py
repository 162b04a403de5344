"""The budget: known answers, and that it always adds up."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.recordings import Recording
from iowhy.recordings.writer import write_recording
from iowhy.reports import Filters, run
from tests.examples import costly
from tests.problems import wrong
from tests.reports.conftest import MS, Make, S, call, file, maker, request, spent, wait


def budget(rec: Recording, filters: Filters | None = None) -> dict[str, tuple[object, object]]:
    table = run(rec, "budget", filters)
    shares = table.column("share_of_elapsed")
    return dict(
        zip(
            table.column("class"),
            zip(table.column("thread_ns"), shares, strict=True),
            strict=True,
        )
    )


def nonzero(rec: Recording, filters: Filters | None = None) -> dict[str, object]:
    return {name: ns for name, (ns, _) in budget(rec, filters).items() if ns}


def test_every_second_of_one_thread(make: Make) -> None:
    rec = make(
        {
            "thread_time": [
                spent(
                    i * 100 * MS,
                    100 * MS,
                    user=10 * MS,
                    kernel=5 * MS,
                    runnable=5 * MS,
                    blocked=60 * MS,
                )
                for i in range(10)
            ],
            "waits": [
                w
                for i in range(10)
                for w in (
                    wait(i * 100 * MS, 10 * MS, "page_read", syscall="pread64"),
                    wait(i * 100 * MS + 11 * MS, 20 * MS, "page_writeback", syscall="fsync"),
                    wait(i * 100 * MS + 40 * MS, 5 * MS, "dirty_throttle", syscall="write"),
                    wait(i * 100 * MS + 50 * MS, 4 * MS, "inode_lock", syscall="write"),
                    wait(i * 100 * MS + 60 * MS, 3 * MS, "memory_reclaim"),
                    wait(i * 100 * MS + 70 * MS, 2 * MS, "direct_io", syscall="pwrite64"),
                    wait(i * 100 * MS + 80 * MS, 1 * MS, "vfork", io=False),
                    wait(i * 100 * MS + 82 * MS, 5 * MS, "other", io=False),
                )
            ],
        }
    )
    assert nonzero(rec) == {
        "on-CPU user": 100 * MS,
        "on-CPU kernel": 50 * MS,
        "runnable": 50 * MS,
        "waiting to read": 100 * MS,
        "waiting to write": 20 * MS,
        "waiting for sync": 200 * MS,
        "throttled": 50 * MS,
        "waiting for a lock": 40 * MS,
        "waiting for memory": 30 * MS,
        "idle": 210 * MS,
        "unexplained": 150 * MS,
    }
    shares = {name: share for name, (_, share) in budget(rec).items()}
    assert shares["waiting for sync"] == pytest.approx(0.2)
    assert shares["idle"] == pytest.approx(0.21)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_a_wait_over_many_intervals(make: Make) -> None:
    """One wait of 0.73 s is split exactly over intervals that fit neither it nor the cells."""
    lengths = [70, 130, 100, 250, 30, 420]
    begins = [sum(lengths[:i]) for i in range(len(lengths))]
    waited = [
        max(0, min(b + n, 60 + 730) - max(b, 60)) for b, n in zip(begins, lengths, strict=True)
    ]
    rec = make(
        {
            "thread_time": [
                spent(b * MS, n * MS, blocked=w * MS, user=(n - w) * MS)
                for b, n, w in zip(begins, lengths, waited, strict=True)
            ],
            "waits": [wait(60 * MS, 730 * MS, "page_read", syscall="read")],
        }
    )
    assert nonzero(rec) == {"on-CPU user": 270 * MS, "waiting to read": 730 * MS}


def test_an_interval_of_the_whole_run(make: Make) -> None:
    rec = make(
        {
            "thread_time": [spent(0, 20 * S, blocked=6 * S)],
            "waits": [wait(i * S, 500 * MS, "page_read") for i in range(12)],
        },
        end_s=20,
    )
    assert nonzero(rec) == {"waiting to read": 6 * S, "idle": 14 * S}


def test_unwaited_blocked_time_is_unexplained(make: Make) -> None:
    rec = make(
        {
            "thread_time": [spent(0, 100 * MS, blocked=100 * MS)],
            "waits": [wait(0, 30 * MS, "page_read")],
        }
    )
    assert nonzero(rec) == {"waiting to read": 30 * MS, "unexplained": 70 * MS}


def test_another_threads_wait_is_not_mine(make: Make) -> None:
    rec = make(
        {
            "thread_time": [spent(0, 100 * MS, tid=10, blocked=100 * MS)],
            "waits": [wait(0, 100 * MS, "page_read", tid=11)],
        }
    )
    assert nonzero(rec) == {"unexplained": 100 * MS}


def test_an_idle_parent_does_not_dilute(make: Make) -> None:
    rec = make(
        {
            "thread_time": [
                t
                for i in range(10)
                for t in (
                    spent(i * 100 * MS, 100 * MS, tid=1),
                    spent(i * 100 * MS, 100 * MS, tid=2),
                    spent(i * 100 * MS, 100 * MS, tid=3, blocked=100 * MS),
                )
            ],
            "waits": [wait(0, S, "page_read", tid=3)],
        }
    )
    found = budget(rec)
    assert found["waiting to read"] == (S, pytest.approx(1.0))
    assert found["idle"] == (2 * S, pytest.approx(0.0))


def test_threads_in_turn_add_up_and_threads_at_once_share(make: Make) -> None:
    turns = make(
        {
            "thread_time": [
                spent(0, 100 * MS, tid=1, user=50 * MS),
                spent(0, 100 * MS, tid=2, kernel=50 * MS),
            ]
        },
        end_s=0.1,
    )
    found = budget(turns)
    assert found["on-CPU user"][1] == pytest.approx(0.5)
    assert found["on-CPU kernel"][1] == pytest.approx(0.5)
    assert found["idle"][1] == pytest.approx(0.0)
    at_once = make(
        {
            "thread_time": [
                spent(0, 100 * MS, tid=1, user=100 * MS),
                *(spent(0, 100 * MS, tid=t, runnable=100 * MS) for t in (2, 3, 4)),
            ]
        },
        end_s=0.1,
    )
    found = budget(at_once)
    assert found["on-CPU user"][1] == pytest.approx(0.25)
    assert found["runnable"][1] == pytest.approx(0.75)


def test_all_idle_is_idle(make: Make) -> None:
    rec = make(
        {
            "thread_time": [
                spent(0, 100 * MS, user=100 * MS),
                *(spent(i * 100 * MS, 100 * MS) for i in range(1, 10)),
            ]
        }
    )
    found = budget(rec)
    assert found["on-CPU user"][1] == pytest.approx(0.1)
    assert found["idle"][1] == pytest.approx(0.9)


def test_sleep_in_io_calls(make: Make) -> None:
    """Interruptible sleep counts as I/O in calls on files (FUSE, NFS), not on pipes or without file."""

    def asleep(at: int, name: str, ino: int | None) -> dict[str, object]:
        return call(at, 100 * MS, name, ino=ino, blocked_ns=0, sleeping_ns=100 * MS)

    rec = make(
        {
            "files": [file(2, "/srv/a"), file(3, None, "pipe")],
            "thread_time": [spent(i * 100 * MS, 100 * MS) for i in range(6)],
            "syscalls": [
                asleep(0, "read", 2),
                asleep(100 * MS, "read", 3),
                asleep(200 * MS, "write", 2),
                asleep(300 * MS, "fsync", 2),
                asleep(400 * MS, "read", None),
                asleep(500 * MS, "openat", 2),
            ],
        }
    )
    assert nonzero(rec) == {
        "waiting to read": 100 * MS,
        "waiting to write": 100 * MS,
        "waiting for sync": 100 * MS,
        "idle": 300 * MS,
    }


@pytest.mark.parametrize("name", ["io_getevents", "io_uring_enter"])
def test_collecting_waits_for_io_while_requests_fly(make: Make, name: str) -> None:
    tables = {
        "thread_time": [spent(i * 100 * MS, 100 * MS) for i in range(4)],
        "syscalls": [
            call(0, 400 * MS, name, ino=None, dev=None, blocked_ns=0, sleeping_ns=400 * MS)
        ],
        "block_requests": [
            request(0, 80 * MS, "read"),
            request(100 * MS, 30 * MS, "read"),
            request(130 * MS, 10 * MS, "write"),
            request(200 * MS, 100 * MS, "write"),
            request(200 * MS, 100 * MS, "write"),
            request(300 * MS, 100 * MS, "read", tgid=99, tid=99),
        ],
    }
    assert nonzero(make(tables)) == {
        "waiting to read": 110 * MS,
        "waiting to write": 110 * MS,
        "idle": 180 * MS,
    }
    blind = make(tables | {"block_requests": []}, without=["block_requests"])
    assert nonzero(blind) == {"unexplained": 400 * MS}


def test_who_collects_waits_only_for_its_own_ring(make: Make) -> None:
    def reaps(tid: int, ring: int | None) -> dict[str, object]:
        more = {"ino": None, "dev": None, "blocked_ns": 0, "sleeping_ns": 100 * MS, "ring": ring}
        return call(0, 100 * MS, "io_getevents", tid=tid, **more)

    requests = [
        request(0, 20 * MS, "read", ring=1),
        request(40 * MS, 5 * MS, "write", ring=2),
        request(50 * MS, 10 * MS, "read"),  # through neither: by a call that waits itself
        request(70 * MS, 20 * MS, "read", tid=13),  # by a thread of io_uring, for any of them
    ]
    threads = [{"tid": 13, "tgid": 10, "comm": "iou-sqp-10", "start_ns": 0}]

    def waits(ring: int | None) -> dict[str, object]:
        tables = {"thread_time": [spent(0, 100 * MS)], "syscalls": [reaps(10, ring)]}
        return nonzero(make(tables | {"block_requests": requests, "threads": threads}))

    assert waits(1) == {"waiting to read": 40 * MS, "idle": 60 * MS}
    both = {"waiting to read": 20 * MS, "waiting to write": 5 * MS, "idle": 75 * MS}
    assert waits(2) == both
    assert waits(3) == {"waiting to read": 20 * MS, "idle": 80 * MS}
    every = {"waiting to read": 50 * MS, "waiting to write": 5 * MS, "idle": 45 * MS}
    assert waits(None) == every


def test_calls_stand_in_for_waits(make: Make) -> None:
    rec = make(
        {
            "thread_time": [spent(0, 100 * MS, blocked=90 * MS, user=10 * MS)],
            "syscalls": [call(0, 40 * MS, "read"), call(50 * MS, 30 * MS, "fdatasync")],
        },
        without=["waits"],
    )
    assert nonzero(rec) == {
        "on-CPU user": 10 * MS,
        "waiting to read": 40 * MS,
        "waiting for sync": 30 * MS,
        "unexplained": 20 * MS,
    }


def test_unknown_states_are_unexplained(make: Make) -> None:
    rec = make({"thread_time": [{"ts_ns": 0, "interval_ns": 100, "tgid": 1, "tid": 1}]})
    assert nonzero(rec) == {"unexplained": 100}


def test_without_thread_time_nothing_is_known(make: Make) -> None:
    found = budget(make({}, without=["thread_time"]))
    assert len(found) == 12
    assert set(found.values()) == {(None, None)}


def test_part_of_the_time_and_of_the_processes(make: Make) -> None:
    rec = make(
        {
            "thread_time": [
                spent(i * 100 * MS, 100 * MS, tid=t, user=t * MS) for i in range(10) for t in (1, 2)
            ]
        }
    )
    found = nonzero(rec, Filters(since="0.2", until="500ms", pids=(2,)))
    assert found == {"on-CPU user": 6 * MS, "idle": 294 * MS}


times = st.integers(0, 900 * MS)
lengths = st.integers(1, 400 * MS)


@costly(6)
@given(data=st.data())
def test_adds_up_whatever_was_recorded(make: Make, data: st.DataObject) -> None:
    """Also when waits and states contradict each other: the classes sum to the threads' time."""
    rows = []
    for tid in range(1, data.draw(st.integers(2, 4))):
        at = data.draw(times)
        for length in data.draw(st.lists(lengths, max_size=5)):
            cuts = sorted(data.draw(st.lists(st.integers(0, length), min_size=4, max_size=4)))
            user, kernel, runnable, blocked = (
                b - a for a, b in zip([0, *cuts], cuts, strict=False)
            )
            states = {"user": user, "kernel": kernel, "runnable": runnable, "blocked": blocked}
            rows.append(spent(at, length, tid=tid, **states))
            at += length
    reasons = st.sampled_from(["page_read", "journal_commit", "inode_lock", "other", "vfork"])
    waits = [
        wait(
            data.draw(times),
            data.draw(lengths),
            data.draw(reasons),
            tid=data.draw(st.integers(1, 4)),
        )
        for _ in range(data.draw(st.integers(0, 6)))
    ]
    sleeps = [
        call(at, length, name, tid=1, blocked_ns=0, sleeping_ns=length, ino=2)
        for at, length, name in data.draw(
            st.lists(
                st.tuples(times, lengths, st.sampled_from(["read", "io_getevents"])), max_size=4
            )
        )
    ]
    flights = [
        request(at, n, "read")
        for at, n in data.draw(st.lists(st.tuples(times, lengths), max_size=4))
    ]
    rec = make(
        {
            "thread_time": rows,
            "waits": waits,
            "syscalls": sleeps,
            "block_requests": flights,
            "files": [file(2, "/a")],
        }
    )
    found = budget(rec)
    total = sum(row["interval_ns"] for row in rows)
    if not total:
        return  # then single calls tell what they can, as in the verdict
    assert sum(ns for ns, _ in found.values()) == total
    assert all(ns >= 0 for ns, _ in found.values())
    assert sum(share for _, share in found.values()) == pytest.approx(1.0)
    assert all(share >= -1e-12 for _, share in found.values())


def test_damaged_table_is_a_problem(tmp_path: Path) -> None:
    rec = maker(tmp_path, write_recording)({"thread_time": [spent(0, 100 * MS)]})
    Path(rec.files("thread_time")[0]).write_bytes(b"PAR1 but not really PAR1")
    with wrong("file-damaged", path=rec.files("thread_time")[0]):
        run(rec, "budget")
