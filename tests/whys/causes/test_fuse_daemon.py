"""fuse-daemon: what answers is a process, no device."""

from ..conftest import Judge, absent, chain, leads
from ..made import MS, Story
from ..made.base import FS


def reader(kind: str = "fuse.sshfs", daemon: int | None = 88, reason: str = "fuse") -> Story:
    story = Story(2.0).caller("read", 180, blocked=10 * MS, reason=reason)
    return story.add(
        "filesystems", dev=FS, kind=kind, mount="/far", options="rw", daemon_tgid=daemon
    )


def test_its_process_is_named_and_the_next_step(judged: Judge) -> None:
    found = leads(judged(reader()), "fuse-daemon", 0.85)
    assert "waits for files on /far (fuse.sshfs)" in chain(found)
    assert "iowhy run -p 88 --duration 30s" in found.remedies[0]


def test_its_answer_is_mostly_slept_for(judged: Judge) -> None:
    """As recorded: the kernel waits for the process interruptibly, so that there are no waits."""
    story = Story(2.0).caller("read", 180, sleeping=10 * MS, gap="idle")
    story.add("filesystems", dev=FS, kind="fuse", mount="/far", options="rw", daemon_tgid=88)
    found = leads(judged(story), "fuse-daemon", 0.85)
    assert "180 waits, 10 ms each, most of them in read" in chain(found)


def test_without_its_process_it_is_said_how_to_find_it(judged: Judge) -> None:
    found = leads(judged(reader(daemon=None)), "fuse-daemon", 0.85)
    assert "fuser -v /dev/fuse" in found.remedies[0]


def test_pages_that_readahead_asked_for_are_served_too(judged: Judge) -> None:
    leads(judged(reader(reason="page_read")), "fuse-daemon", 0.85)


def test_no_word_of_a_disk_that_others_keep_busy(judged: Judge) -> None:
    """Its program was read from sda, which others keep busy."""
    story = reader().requests(4, service=MS)
    story.requests(1600, op="write", service=9 * MS, depth=8, own=False, ino=None, tgid=77)
    verdict = judged(story)
    leads(verdict, "fuse-daemon", 0.85)
    absent(verdict, "device-contended")
    absent(verdict, "device-saturated")


def test_not_a_filesystem_of_the_kernel(judged: Judge) -> None:
    absent(judged(reader(kind="ext4", daemon=None, reason="page_read")), "fuse-daemon")
