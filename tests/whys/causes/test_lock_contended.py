"""lock-contended: threads wait for a lock in the kernel."""

import pytest

from iowhy.whys import classes
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
from ..made import MS, Story


def writers(reason: str) -> Story:
    story = Story(2.0)
    for tid in range(10, 14):
        story.caller("pwrite64", 100, tid=tid, blocked=18 * MS, reason=reason, io=False, gap="idle")
    return story


def test_a_convoy_on_one_file(judged: Judge) -> None:
    found = leads(judged(writers("inode_lock")), "lock-contended", 0.85)
    assert "/data/file" in found.summary and "4 threads" in chain(found)


@pytest.mark.parametrize(
    ("call", "reason", "told"),
    [
        ("pwrite64", "inode_lock", "a separate file"),
        ("unlink", "inode_lock", "Spread the files over several directories"),
        ("openat", "metadata_lock", "Spread the files over several directories"),
        ("mmap", "memory_map_lock", "Keep freed memory"),
    ],
)
def test_what_helps_is_that_of_the_lock(judged: Judge, call: str, reason: str, told: str) -> None:
    """A second file takes nothing from the lock of a directory, nor that of a memory map."""
    story = Story(2.0)
    for tid in range(10, 14):
        story.caller(
            call, 100, tid=tid, blocked=18 * MS, bytes_=None, reason=reason, io=False, gap="idle"
        )
    found = leads(judged(story), "lock-contended", 0.85)
    assert told in found.remedies[0]
    assert any("direct I/O" in one for one in found.remedies) is (call == "pwrite64")


def test_part_of_the_time_nobody_else_is_at_work(judged: Judge) -> None:
    """One waits for a lock all the time; another works in half of it."""
    story = Story(2.0).caller("pwrite64", 100, blocked=18 * MS, reason="inode_lock", io=False)
    verdict = judged(story.thread(11, user=0.45))
    found = finding(verdict, "lock-contended")
    assert found is not None
    assert found.share == pytest.approx(verdict.budget.elapsed(classes.LOCK) / 2, abs=0.01)
    assert tells(chain(found), "50 %")


def test_not_where_nobody_can_hold_it(judged: Judge) -> None:
    """One thread, and a shell that waits for it."""
    story = Story(2.0).caller("pwrite64", 100, blocked=18 * MS, reason="inode_lock", io=False)
    absent(judged(story.thread(9, 9)), "lock-contended")


def test_not_blocks_that_readahead_reads(judged: Judge) -> None:
    """A walk by one thread over a cold XFS: most of its waits are for locked blocks (xfs_buf_lock)."""
    story = Story(4.0).caller(
        "getdents64", 800, blocked=4 * MS, bytes_=None, reason="metadata_lock"
    )
    story.requests(800, service=3 * MS // 2, kind="metadata", ino=None, jump=True, depth=2)
    for row in story.tables["waits"][::3]:
        row["reason"] = "metadata_read"
    verdict = judged(story)
    absent(verdict, "lock-contended")
    leads(verdict, "metadata-cold", 0.75)


def test_not_direct_writes(judged: Judge) -> None:
    absent(judged(writers("direct_io")), "lock-contended")


def test_not_threads_that_sleep_on_a_futex(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.05).idle_call("futex", 0.95)
    verdict = judged(story)
    absent(verdict, "lock-contended")
    assert "futex" in chain(leads(verdict, "not-io", 0.9))
