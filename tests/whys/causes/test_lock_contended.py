"""lock-contended: threads wait for a lock in the kernel."""

from ..conftest import Judge, absent, chain, leads
from ..made import MS, Story


def writers(reason: str) -> Story:
    story = Story(2.0)
    for tid in range(10, 14):
        story.caller("pwrite64", 100, tid=tid, blocked=18 * MS, reason=reason, io=False, gap="idle")
    return story


def test_a_convoy_on_one_file(judged: Judge) -> None:
    found = leads(judged(writers("inode_lock")), "lock-contended", 0.85)
    assert "/data/file" in chain(found) and "4 threads" in chain(found)


def test_not_direct_writes(judged: Judge) -> None:
    absent(judged(writers("direct_io")), "lock-contended")


def test_not_threads_that_sleep_on_a_futex(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.05).idle_call("futex", 0.95)
    verdict = judged(story)
    absent(verdict, "lock-contended")
    assert "futex" in chain(leads(verdict, "not-io", 0.9))
