"""The critical path: the thread that others wait for gets the elapsed time; what it hides, and who idles, get none."""

from pathlib import Path

import pytest

from iowhy.recordings import Recording
from iowhy.reports import run
from iowhy.whys.budget import Budget
from iowhy.whys.verdict import judge

from .made import MS, START, STEP, Story

SUMS = ("waits_ns", "waited_ns", "waited_runnable_ns", "waited_blocked_ns")


def waiting(story: Story, tid: int, **shares: float) -> Story:
    """Sets what a thread waits for others and is waited for, as shares of each interval."""
    for row in story.tables["thread_time"]:
        if row["tid"] == tid:
            step = row["interval_ns"]
            assert isinstance(step, int)
            row.update({name: int(shares.get(name[:-3], 0.0) * step) for name in SUMS})
    return story


def pipeline(*, known: bool = True) -> Story:
    """One feeds, one computes all the time, one takes: the first and last sleep until the second is done."""
    story = Story(2.0, cpus=4)
    story.thread(10, user=0.1, blocked=0.4).thread(11, 11, user=1.0).thread(12, 12, user=0.3)
    for number in range(20):
        story.wait(START + number * STEP, 40 * MS, "page_read", "read", tid=10)
    if known:
        waiting(story, 10, waits=0.5)
        waiting(story, 11, waited=0.85)
        waiting(story, 12, waits=0.7)
    return story


def budget_of(story: Story, folder: Path) -> Budget:
    return judge(story.made(folder / "x.iowhy")).budget


def test_a_pipeline_of_three(tmp_path: Path) -> None:
    """The reads of the first are hidden behind the second's work: nobody would wait less without them."""
    found = budget_of(pipeline(), tmp_path)
    assert found.line("on-CPU user").elapsed_share == pytest.approx(1, abs=0.001)
    assert found.line("waiting to read").elapsed_share == pytest.approx(0, abs=0.001)
    # What threads did is not changed by who waits for whom.
    assert found.line("waiting to read").thread_s == pytest.approx(0.8, abs=0.001)


def test_a_pipeline_of_which_nothing_is_known_shares_as_before(tmp_path: Path) -> None:
    found = budget_of(pipeline(known=False), tmp_path)
    assert found.line("waiting to read").elapsed_share == pytest.approx(0.4 / 1.8, abs=0.001)


def test_a_pool_with_one_slow_lock(tmp_path: Path) -> None:
    """Eight workers, each 5 ms of computing and 12.5 ms of fsync behind a lock that the other seven wait for."""
    story = Story(2.0, cpus=4)
    hold = STEP // 8
    for tid in range(10, 18):
        story.thread(tid, user=0.05, blocked=0.125)
        for number in range(20):
            at = START + number * STEP + (tid - 10) * hold
            story.wait(at, hold, "journal_commit", "fsync", tid=tid)
        waiting(story, tid, waits=0.825, waited=0.125, waited_blocked=0.125)
    found = budget_of(story, tmp_path)
    assert found.line("waiting for sync").elapsed_share == pytest.approx(1, abs=0.02)
    assert found.line("on-CPU user").elapsed_share == pytest.approx(0, abs=0.02)


def test_a_server_with_ten_idle_workers(tmp_path: Path) -> None:
    """One hands out a request in passing, one of the workers does it, ten wait for a request and not for anybody."""
    story = Story(2.0, cpus=4).thread(10, user=0.05)
    story.thread(11, user=0.2, blocked=0.6)
    for number in range(20):
        story.wait(START + number * STEP, 60 * MS, "page_read", "pread64", tid=11)
    waiting(story, 11, waits=0.01)
    waiting(story, 10, waited=0.01)
    for tid in range(12, 22):
        waiting(story.thread(tid), tid, waits=0.001)
    found = budget_of(story, tmp_path)
    assert found.line("waiting to read").elapsed_share == pytest.approx(0.6, abs=0.01)
    assert found.line("on-CPU user").elapsed_share == pytest.approx(0.25, abs=0.01)
    assert found.line("idle").elapsed_share == pytest.approx(0.15, abs=0.01)


def test_two_that_work_side_by_side_share(tmp_path: Path) -> None:
    """Neither waits for the other; who is joined first has no more of the time."""
    story = Story(2.0, cpus=4).thread(10).thread(11, user=1.0).thread(12, blocked=1.0)
    story.wait(START, story.elapsed, "page_read", "read", tid=12)
    waiting(story, 10, waits=1.0)
    waiting(story, 11, waited=1.0)
    found = budget_of(story, tmp_path)
    assert found.line("on-CPU user").elapsed_share == pytest.approx(0.5, abs=0.001)
    assert found.line("waiting to read").elapsed_share == pytest.approx(0.5, abs=0.001)


def test_group_commit_belongs_to_the_flush(tmp_path: Path) -> None:
    """Four backends take turns to flush for all: what one computes while another flushes is hidden behind that."""
    story = Story(2.0, cpus=4)
    for tid in range(10, 14):
        story.thread(tid, tid, user=0.2, blocked=0.25)
        for number in range(20):
            at = START + number * STEP + (tid - 10) * 25 * MS
            story.wait(at, 25 * MS, "flush", "fdatasync", tid=tid)
        waiting(story, tid, waits=0.5, waited=0.25, waited_blocked=0.25)
    found = budget_of(story, tmp_path)
    assert found.line("waiting for sync").elapsed_share == pytest.approx(1, abs=0.01)


def test_time_in_which_nobody_else_works_stays(tmp_path: Path) -> None:
    """A thread that waited for another, which was idle itself: what it did is still what was done then."""
    story = Story(2.0, cpus=4).thread(10, user=0.3).thread(11, 11, user=0.2)
    waiting(story, 10, waits=0.7)
    found = budget_of(story, tmp_path)
    assert found.line("on-CPU user").elapsed_share == pytest.approx(0.5, abs=0.001)
    assert found.line("idle").elapsed_share == pytest.approx(0.5, abs=0.001)


def kernel_kinds(recording: Recording) -> dict[str | None, float]:
    rows = run(recording, "kernel-time").to_pylist()
    return {row["kind"]: row["thread_ns"] / 1e9 for row in rows}


def test_kernel_time_by_what_it_is_spent_on(tmp_path: Path) -> None:
    """Of 1.5 s: 0.4 s in calls, of which half on files; 0.5 s frees memory; the rest are faults and interrupts."""
    story = Story(2.0, cpus=4).thread(user=0.2, kernel=0.75)
    for row in story.tables["thread_time"]:
        row["cpu_calls_ns"] = int(0.2 * STEP)
        row["cpu_reclaim_ns"] = int(0.25 * STEP)
    parts = {"cpu_ns": 2 * MS, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for number in range(100):
        story.call(START + number * 20 * MS, "read", parts, tid=10, ino=101, offset=0, bytes_=1)
    story.idle_call("futex", 0.1)
    found = kernel_kinds(story.made(tmp_path / "x.iowhy"))
    assert found == {
        "calls on files": pytest.approx(0.2, abs=1e-6),
        "other calls": pytest.approx(0.2, abs=1e-6),
        "freeing memory": pytest.approx(0.5, abs=1e-6),
        "page faults, interrupts, call entry": pytest.approx(0.6, abs=1e-6),
    }


def test_kernel_time_of_older_recordings_is_not_told_apart(tmp_path: Path) -> None:
    found = kernel_kinds(Story(2.0).thread(kernel=0.5).made(tmp_path / "x.iowhy"))
    assert found == {None: pytest.approx(1.0)}


def test_system_calls_are_never_more_than_all_of_the_kernel_time(tmp_path: Path) -> None:
    """The whole is by what the kernel's ticks met, of a short run now and then too little."""
    story = Story(2.0).thread(kernel=0.5)
    for row in story.tables["thread_time"]:
        row["cpu_calls_ns"] = int(0.6 * STEP)
    assert sum(kernel_kinds(story.made(tmp_path / "x.iowhy")).values()) == pytest.approx(1.0)
