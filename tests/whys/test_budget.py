"""The budget: every thread-second in one class, and the elapsed time divided by who is not idle."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.whys import classes
from iowhy.whys.budget import Budget
from iowhy.whys.facts import Facts
from tests.examples import costly

from .made import MS, START, S, Story


def budget(story: Story) -> Budget:
    with (
        tempfile.TemporaryDirectory() as folder,
        Facts(story.made(Path(folder) / "x")) as facts,
    ):
        return facts.budget


SHARE = st.integers(0, 20).map(lambda n: n / 100)


@given(
    st.lists(st.tuples(SHARE, SHARE, SHARE, SHARE, SHARE), min_size=1, max_size=4),
    st.lists(
        st.tuples(
            st.integers(0, 1500 * MS),
            st.integers(1, 900 * MS),
            st.sampled_from(["page_read", "inode_lock", "other", "dirty_throttle"]),
            st.sampled_from(["read", "fsync", None]),
        ),
        max_size=8,
    ),
)
@costly(5)
def test_it_sums_to_thread_time_and_to_elapsed_time(
    threads: list[tuple[float, float, float, float, float]],
    waits: list[tuple[int, int, str, str | None]],
) -> None:
    story = Story(1.05)
    for tid, (user, kernel, runnable, blocked, unseen) in enumerate(threads, 10):
        story.thread(
            tid, user=user, kernel=kernel, runnable=runnable, blocked=blocked, unseen=unseen
        )
    for at, length, reason, call in waits:
        story.wait(START + at, length, reason, call)
    made = budget(story)
    assert made.thread_s == pytest.approx(1.05 * len(threads), rel=1e-3)
    assert sum(line.thread_s or 0.0 for line in made.lines) == pytest.approx(made.thread_s)
    assert sum(line.elapsed_share for line in made.lines) == pytest.approx(1.0, rel=1e-6)
    assert all(line.elapsed_share >= 0 for line in made.lines)


def test_idle_threads_do_not_dilute() -> None:
    story = Story(1.0).thread(10, user=0.5)
    for tid in range(11, 20):
        story.thread(tid)
    made = budget(story)
    line = made.line(classes.USER)
    assert line.elapsed_share == pytest.approx(0.5)
    assert line.share == pytest.approx(0.05)
    assert made.line(classes.IDLE).elapsed_share == pytest.approx(0.5)


def test_threads_at_work_together_share_the_elapsed_time() -> None:
    story = Story(1.0).thread(10, user=1.0).thread(11, kernel=1.0)
    made = budget(story)
    assert made.line(classes.USER).elapsed_share == pytest.approx(0.5)
    assert made.line(classes.KERNEL).elapsed_share == pytest.approx(0.5)
    assert made.thread_s == pytest.approx(2.0)


def test_a_wait_across_intervals_is_spread_over_them() -> None:
    story = Story(1.0).thread(10, blocked=1.0)
    story.wait(START, 750 * MS, "journal_commit", "fsync")
    story.wait(START + 750 * MS, 250 * MS, "page_read", "read")
    made = budget(story)
    assert made.line(classes.SYNC).thread_s == pytest.approx(0.75)
    assert made.line(classes.READ).elapsed_share == pytest.approx(0.25)


def test_without_reasons_the_time_is_unexplained_not_zero() -> None:
    story = Story(1.0).thread(10, blocked=0.8)
    story.missing |= {"waits", "syscalls"}
    made = budget(story)
    assert made.line(classes.UNEXPLAINED).elapsed_share == pytest.approx(0.8)
    assert any("reason" in text for text in made.unknowns)


def test_from_proc_alone_waiting_is_split_by_the_bytes_moved() -> None:
    story = Story(1.0).thread(10, blocked=0.8)
    story.missing |= {"waits", "syscalls"}
    story.add("process_io", ts_ns=START + S, tgid=10, read_bytes=3000, written_bytes=1000)
    made = budget(story)
    assert made.line(classes.READ).elapsed_share == pytest.approx(0.6)
    assert made.line(classes.WRITE).elapsed_share == pytest.approx(0.2)


def test_kernel_time_that_is_not_told_apart_is_said() -> None:
    story = Story(1.0).thread(10, user=0.8)
    for row in story.tables["thread_time"]:
        row["cpu_kernel_ns"] = None
    made = budget(story)
    assert made.line(classes.USER).elapsed_share == pytest.approx(0.8)
    assert any("kernel" in text for text in made.unknowns)
