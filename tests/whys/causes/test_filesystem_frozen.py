"""filesystem-frozen: writers wait until it is thawed."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, leads
from ..made import FS, MS, START, Story


def waiting(reason: str = "frozen", length: int = 1500 * MS) -> Story:
    """One openat of a 2 s run, which has no file until it is through, beside a thread that computes."""
    story = Story(2.0).call(
        START + 10 * MS,
        "openat",
        {"cpu_ns": 0, "runnable_ns": 0, "blocked_ns": length, "sleeping_ns": 0},
        tid=10, ino=101, offset=0, bytes_=None,
    )  # fmt: skip
    story.wait(START + 10 * MS, length, reason, "openat", ino=None, io=False)
    story.tables["waits"][-1]["dev"] = None
    story.add("filesystems", dev=FS, kind="ext4", mount="/srv", options="rw", disk_dev=None)
    return story.thread(blocked=length / (2000 * MS)).thread(11, user=0.3)


def test_it_says_what_is_frozen_since_when_and_until_when(judged: Judge) -> None:
    found = leads(judged(waiting()), "filesystem-frozen", 0.5)
    assert "/srv" in found.summary
    assert tells(chain(found), "10 ms", "1.51 s", "1 wait")
    assert "--unfreeze /srv" in found.remedies[1]


def test_a_process_that_freezes_is_named(judged: Judge) -> None:
    story = waiting().add("neighbours", tgid=77, comm="qemu-ga")
    found = leads(judged(story), "filesystem-frozen", 0.5)
    assert "qemu-ga (77)" in chain(found) and "qemu-ga (77)" in found.remedies[0]


def test_not_another_lock_nor_a_moment(judged: Judge) -> None:
    absent(judged(waiting("inode_lock")), "filesystem-frozen")
    absent(judged(waiting(length=20 * MS)), "filesystem-frozen")
