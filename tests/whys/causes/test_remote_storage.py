"""remote-storage: what answers is a server, no device."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, fixes_of, leads, links_of
from ..made import MS, Story
from ..made.base import FS, START


def reader(kind: str = "nfs4", reason: str = "network_filesystem") -> Story:
    story = Story(2.0).caller("read", 180, blocked=10 * MS, reason=reason)
    return story.add("filesystems", dev=FS, kind=kind, mount="/far", options="rw")


def counted(
    story: Story, queue: int = 0, rtt: int = 9, timeouts: int = 0, op: str = "READ"
) -> Story:
    """What the client counted: 200 operations, so many ms each."""
    for at, n in ((0, 0), (1, 200)):
        story.add(
            "remote_samples", ts_ns=START + at * 1000 * MS, dev=FS, op=op, operations=1000 + n, transmissions=1000 + n,
            timeouts=at * timeouts, sent_bytes=0, received_bytes=0, queue_ns=n * queue * MS, rtt_ns=n * rtt * MS,
            execute_ns=n * (queue + rtt) * MS,
        )  # fmt: skip
    return story


def test_what_its_client_counted_is_said(judged: Judge) -> None:
    found = leads(judged(counted(reader(), timeouts=3)), "remote-storage", 0.85)
    said = chain(found)
    assert tells(said, "/far", "nfs4")
    assert tells(said, "180", "10 ms", "read")
    assert tells(said, "200 READs", "9 ms")
    assert tells(links_of(found)["remote-storage.timeouts"], "3")
    assert "remote-storage.queue-ns" not in links_of(found)
    assert "ss -ti" in found.remedies[-1]


def test_a_server_that_does_not_answer_is_named_as_such(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1, blocked=1900 * MS, reason="network_filesystem")
    story.add(
        "filesystems", dev=FS, kind="nfs4", mount="/far", options="rw", unanswered_ns=2000 * MS
    )
    found = leads(judged(story), "remote-storage", 0.85)
    assert found.comes_first and fixes_of(found)[0] == "remote-storage.end-waiting"
    assert not leads(judged(reader()), "remote-storage", 0.85).comes_first


def test_of_several_kinds_the_one_that_took_most_of_the_time(judged: Judge) -> None:
    story = counted(counted(reader()), rtt=1, op="GETATTR")
    assert tells(chain(leads(judged(story), "remote-storage", 0.85)), "200 READs")


def test_a_queue_of_this_machine_is_said_and_has_its_remedy(judged: Judge) -> None:
    found = leads(judged(counted(reader(), queue=1)), "remote-storage", 0.85)
    assert tells(chain(found), "1 ms")
    assert "ss -ti" in found.remedies[-1]
    found = leads(judged(counted(reader(), queue=20)), "remote-storage", 0.85)
    assert "nconnect" in found.remedies[0]


def test_without_its_counts_the_waits_tell(judged: Judge) -> None:
    """SMB, or a recording of before."""
    for kind in ("cifs", "nfs", "9p", "virtiofs"):
        assert "answered" not in chain(leads(judged(reader(kind)), "remote-storage", 0.85))


def test_pages_that_readahead_asked_for_are_served_too(judged: Judge) -> None:
    leads(judged(reader(reason="page_read")), "remote-storage", 0.85)


def test_no_word_of_a_disk_that_others_keep_busy(judged: Judge) -> None:
    story = counted(reader()).requests(4, service=MS)
    story.requests(1600, op="write", service=9 * MS, depth=8, own=False, ino=None, tgid=77)
    verdict = judged(story)
    leads(verdict, "remote-storage", 0.85)
    absent(verdict, "device-contended")
    absent(verdict, "device-saturated")


def test_neither_a_local_filesystem_nor_a_process(judged: Judge) -> None:
    absent(judged(reader(kind="ext4", reason="page_read")), "remote-storage")
    verdict = judged(reader(kind="fuse.sshfs", reason="fuse"))
    absent(verdict, "remote-storage")
    leads(verdict, "fuse-daemon", 0.85)
