"""fuse-daemon: what answers is a process, no device."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, fixes_of, leads, links_of
from ..made import MS, START, Story
from ..made.base import DISK, FS


def reader(kind: str = "fuse.sshfs", daemon: int | None = 88, reason: str = "fuse") -> Story:
    story = Story(2.0).caller("read", 180, blocked=10 * MS, reason=reason)
    return story.add(
        "filesystems", dev=FS, kind=kind, mount="/far", options="rw", daemon_tgid=daemon
    )


def test_its_process_is_named_and_the_next_step(judged: Judge) -> None:
    found = leads(judged(reader()), "fuse-daemon", 0.85)
    assert tells(chain(found), "/far", "fuse.sshfs")
    assert "iowhy run -p 88 --duration 30s" in found.remedies[0]


def test_of_one_that_was_recorded_its_work_is_the_waiting(judged: Judge) -> None:
    """It computes while the command waits: the elapsed time is divided between them, and all of it is the filesystem's."""
    story = reader("fuse.gocryptfs").thread(88, 88, user=0.6, kernel=0.25)
    verdict = judged(story)
    found = leads(verdict, "fuse-daemon", 0.9)
    assert (
        found.gain >= 0.9
        and tells(chain(found), "94 %")
        and "worker88 (process 88)" in found.summary
    )
    absent_or_small = [one.share for one in verdict.findings if one.cause == "cpu-serial"]
    assert sum(absent_or_small) < 0.1


def test_its_disk_and_the_rest_of_the_waiting(judged: Judge) -> None:
    """Others than the command use a tenth of a CPU; it reads from a disk in a third of the time: the rest is a network, say."""
    story = reader().machine(busy=0.05).requests(60, service=10 * MS, own=False, tgid=88)
    said = links_of(leads(judged(story), "fuse-daemon", 0.85))
    assert tells(said["fuse-daemon.disk"], "sda", "33 %")
    assert "fuse-daemon.rest" in said


@pytest.mark.parametrize(
    ("cpu", "requests", "peer", "rest", "step"),
    [
        # It waits for its own disk in a third of the waiting, and computes in the rest.
        (1.15, 60, None, None, "fuse-daemon.see-functions"),
        (0.2, 0, "10.0.0.7:22", "89 %", "fuse-daemon.see-peer"),
        (0.2, 0, None, "89 %", "fuse-daemon.see-server"),
        (0.0, 0, "[fd00::7]:22", "100 %", "fuse-daemon.see-peer"),
    ],
)
def test_of_one_that_was_not_recorded_the_kernel_counts_what_it_computes(
    cpu: float, requests: int, peer: str | None, rest: str | None, step: str, judged: Judge
) -> None:
    """However busy others keep the CPUs."""
    story = reader().machine(busy=0.9)
    story.tables["filesystems"][-1] |= {"daemon_cpu_ns": int(cpu * 1e9), "daemon_peer": peer}
    if requests:
        story.requests(requests, service=10 * MS, own=False, tgid=88)
    found = leads(judged(story), "fuse-daemon", 0.85)
    said = links_of(found)
    assert tells(said["fuse-daemon.cpu"], f"{cpu / 1.8 * 100:.0f} %")
    assert "most" not in said["fuse-daemon.cpu"]
    assert tells(said["fuse-daemon.rest"], rest) if rest else "fuse-daemon.rest" not in said
    assert peer is None or peer in said["fuse-daemon.rest"]
    assert step in fixes_of(found)


@pytest.mark.parametrize(("cpu", "first"), [(0.9, True), (2.7, False)])
def test_what_it_does_in_more_than_the_waiting_is_divided_as_it_is(
    cpu: float, first: bool, judged: Judge
) -> None:
    """It has a request of its disk all the time, and computes in half as much, or twice as much: also while nobody waits."""
    story = reader("fuse.gocryptfs").requests(180, service=10 * MS, own=False, tgid=88)
    story.add("filesystems", dev=70, kind="ext4", mount="/srv", options="rw", disk_dev=DISK)
    for row in story.tables["block_requests"]:
        row["owner_dev"] = 70
    story.tables["filesystems"][0]["daemon_cpu_ns"] = int(cpu * 1e9)
    found = leads(judged(story), "fuse-daemon", 0.85)
    said = links_of(found)
    assert tells(said["fuse-daemon.disk"], "67 %" if first else "40 %")
    assert tells(said["fuse-daemon.cpu"], "33 %" if first else "60 %")
    assert fixes_of(found)[0] == (
        "fuse-daemon.read-behind" if first else "fuse-daemon.see-functions"
    )
    assert found.gain == pytest.approx(0.6 if first else 0.9, abs=0.05)


@pytest.mark.parametrize(("requests", "first"), [(150, True), (60, False)])
def test_who_waits_for_its_disk_has_its_files_read_first(
    requests: int, first: bool, judged: Judge
) -> None:
    story = reader("fuse.gocryptfs").machine(busy=0.9)
    story.add("filesystems", dev=70, kind="ext4", mount="/srv", options="rw", disk_dev=DISK)
    story.requests(requests, service=11 * MS, own=False, tgid=88)
    for row in story.tables["block_requests"]:
        row["owner_dev"] = 70
    found = leads(judged(story), "fuse-daemon", 0.85)
    assert (fixes_of(found)[0] == "fuse-daemon.read-behind") is first
    # What others compute is more than is left, and bounds nothing.
    assert "fuse-daemon.cpu" not in links_of(found)


def test_what_the_kernel_can_do_itself_comes_first(judged: Judge) -> None:
    found = leads(judged(reader("fuse.bindfs")), "fuse-daemon", 0.85)
    assert "mount --bind" in found.remedies[0] and "run -p 88" in found.remedies[1]


@pytest.mark.parametrize(("requests", "first"), [(0, True), (50, True), (150, False)])
def test_the_kernel_waits_for_the_same_disk(requests: int, first: bool, judged: Judge) -> None:
    """It serves files of a disk, and mounts without a name of its own."""
    story = reader("fuse").add("neighbours", tgid=88, comm="bindfs", container="")
    story.add("filesystems", dev=70, kind="ext4", mount="/srv", options="rw", disk_dev=DISK)
    story.tables["filesystems"][0]["daemon_cpu_ns"] = 100 * MS
    if requests:
        story.requests(requests, service=11 * MS, own=False, tgid=88)
    for row in story.tables.get("block_requests", []):
        row["owner_dev"] = 70
    found = leads(judged(story), "fuse-daemon", 0.85)
    assert (fixes_of(found)[0] == "fuse-daemon.kernel-mount") is first
    assert "fuse-daemon.kernel-mount" in fixes_of(found)
    assert found.gain == pytest.approx(
        0.9 * (1 - requests * 0.011 / 1.8 if first else 0.94), abs=0.05
    )


def test_one_that_does_not_answer_is_named_as_such(judged: Judge) -> None:
    """The recorder has asked it as well; one that answers is slow at most."""
    story = Story(2.0).caller("read", 1, blocked=1900 * MS, reason="fuse")
    where = {"dev": FS, "kind": "fuse.sshfs", "mount": "/far", "options": "rw", "daemon_tgid": 88}
    found = leads(
        judged(story.add("filesystems", **where, unanswered_ns=2000 * MS)), "fuse-daemon", 0.85
    )
    assert found.comes_first and "/far" in found.summary
    assert fixes_of(found)[0] == "fuse-daemon.unmount"
    # However little of the time it has: it never ends.
    story = Story(2.0).caller("read", 1, blocked=10 * MS, reason="fuse").thread(2, 2, user=0.99)
    short = judged(story.add("filesystems", **where, unanswered_ns=2000 * MS)).findings
    assert short[0].cause == "fuse-daemon" and short[0].share < 0.05
    slow = leads(judged(reader()), "fuse-daemon", 0.85)
    assert not slow.comes_first and "fuse-daemon.unmount" not in fixes_of(slow)


def test_its_answer_is_mostly_slept_for(judged: Judge) -> None:
    """As recorded: the kernel waits for the process interruptibly, so that there are no waits."""
    story = Story(2.0).caller("read", 180, sleeping=10 * MS, gap="idle")
    story.add("filesystems", dev=FS, kind="fuse", mount="/far", options="rw", daemon_tgid=88)
    found = leads(judged(story), "fuse-daemon", 0.85)
    assert tells(chain(found), "180", "10 ms", "read")


def walker(**waits: int) -> Story:
    """So many waits of 1 ms in each call."""
    story = Story(2.0).thread(blocked=0.9)
    at = START
    for call, number in waits.items():
        for _ in range(number):
            story.wait(at, MS, "fuse", call)
            at += MS
    # A row in the report of files, which the finding names.
    story.cache(lookups=40)
    return story.add("filesystems", dev=FS, kind="fuse", mount="/far", options="rw", daemon_tgid=88)


def test_the_calls_that_have_most_of_the_time_are_named(judged: Judge) -> None:
    found = leads(judged(walker(statx=700, getxattr=600, read=500)), "fuse-daemon", 0.8)
    assert tells(chain(found), "1,800", "1 ms", "statx", "getxattr")
    found = leads(judged(walker(statx=700, getxattr=100, read=1000)), "fuse-daemon", 0.8)
    assert tells(chain(found), "read")


def test_what_is_waited_for_says_what_is_done_first(judged: Judge) -> None:
    """Behind the next step: attributes are kept for longer, data moved away or asked for in larger pieces."""
    names = leads(judged(walker(statx=1000, read=800)), "fuse-daemon", 0.8).remedies
    data = leads(judged(walker(statx=800, read=1000)), "fuse-daemon", 0.8).remedies
    assert "attributes longer" in names[1] and "max_read" in names[3]
    assert "local disk" in data[1] and "max_read" in data[2]


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


def test_what_the_kernel_decompresses_itself_is_not_claimed(judged: Judge) -> None:
    """It computes all the time: how quickly the kernel does the same is not known."""
    story = reader("fuse.squashfuse")
    story.tables["filesystems"][0]["daemon_cpu_ns"] = 1800 * MS
    found = leads(judged(story), "fuse-daemon", 0.85)
    (mounted,) = (one for one in found.fixes if one.do.id == "fuse-daemon.kernel-mount")
    assert mounted.gain < 0.1
    (copied,) = (one for one in found.fixes if one.do.id == "fuse-daemon.copy-local")
    assert copied.gain == pytest.approx(found.share)


def test_what_is_copied_is_below_the_mount(judged: Judge) -> None:
    """It reads more of a library, elsewhere."""
    story = reader("fuse.archivemount").file(500, "/usr/lib/libcrypto.so.3")
    story.requests(40, service=MS, ino=500)
    found = leads(judged(story), "fuse-daemon", 0.85)
    (copied,) = (one for one in found.fixes if one.do.id == "fuse-daemon.copy-local")
    assert "libcrypto" not in str(copied.do)


@pytest.mark.parametrize(
    ("frames", "more"),
    [(("filemap_map_pages", "do_fault"), True), (("clear_page_erms", "do_anonymous_page"), False)],
)
def test_page_faults_of_its_files_compute_in_single_pages(
    judged: Judge, frames: tuple[str, ...], more: bool
) -> None:
    """A map of its file: half of the time waits, and a third computes in page faults; those of memory without a file are the program's."""
    story = Story(2.0).thread(kernel=0.3, blocked=0.5).stack(3, *frames, "exc_page_fault")
    story.add("filesystems", dev=FS, kind="fuse.bindfs", mount="/far", options="rw", daemon_tgid=88)
    for number in range(100):
        at = START + number * 20 * MS
        story.wait(at, 10 * MS, "fuse", None)
        story.add(
            "stack_samples", ts_ns=at, tgid=10, tid=10, kind="cpu", syscall=None,
            stack_id=3, weight_ns=6 * MS, whole=True,
        )  # fmt: skip
    found = leads(judged(story), "fuse-daemon", 0.45)
    assert found.share == pytest.approx(0.8 if more else 0.5, abs=0.03)
