"""device-contended: the queue is other people's."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
from ..made import DISK, KIB, MS, START, Story


def reader() -> Story:
    story = Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True)
    return story.requests(180, service=10 * MS, jump=True)


def test_a_neighbour_writes(judged: Judge) -> None:
    story = reader().file(999, "/data/noise")
    story.requests(
        1600, op="write", bytes_=512 * KIB, service=10 * MS, depth=8, own=False, ino=999, tgid=77
    )
    found = leads(judged(story), "device-contended", 0.7)
    assert "/data/noise" in chain(found)


def test_the_neighbour_is_named(judged: Judge) -> None:
    story = reader()
    story.requests(
        1600, op="write", bytes_=512 * KIB, service=10 * MS, depth=8, own=False, ino=None, tgid=77
    )
    story.add("neighbours", tgid=77, comm="backup")
    found = leads(judged(story), "device-contended", 0.7)
    assert tells(chain(found), "backup", "process 77")


def written_back(*dirtied: tuple[int, str]) -> Story:
    """The kernel's workers write what these others dirtied; nobody: what was dirty before."""
    story = reader()
    for tgid in (77, 78):
        story.requests(
            800,
            op="write",
            bytes_=512 * KIB,
            service=10 * MS,
            depth=8,
            own=False,
            ino=None,
            tgid=tgid,
        )
        story.add("neighbours", tgid=tgid, comm=f"kworker/u8:{tgid}+flush-8:0")
    options = {"kind": "ext4", "options": "rw", "block_bytes": 4096}
    story.add("filesystems", dev=DISK + 1, mount="/data", disk_dev=DISK, **options)
    for tgid, comm in dirtied:
        story.add("neighbours", tgid=tgid, comm=comm)
        story.add(
            "dirtied_by_others",
            ts_ns=START,
            interval_ns=story.elapsed,
            tgid=tgid,
            dev=DISK + 1,
            pages=9000,
        )
    return story


def test_the_kernels_workers_are_no_job_of_somebody(judged: Judge) -> None:
    found = leads(judged(written_back()), "device-contended", 0.7)
    assert found.summary.id == "device-contended.written-back"
    assert [one.do.id for one in found.fixes] == [
        "device-contended.less-dirty",
        "device-contended.earlier",
    ]
    found = leads(judged(written_back((90, "kworker/u8:9"))), "device-contended", 0.7)
    assert found.summary.id == "device-contended.written-back"


def test_who_dirtied_what_they_write_is_named(judged: Judge) -> None:
    found = leads(judged(written_back((90, "backup"))), "device-contended", 0.7)
    assert found.summary.id == "device-contended.by-whom"
    assert tells(chain(found), "backup", "process 90")


@pytest.mark.parametrize(
    ("scheduler", "weighs"), [("none", False), ("kyber", False), ("bfq", True), (None, True)]
)
def test_a_weight_is_told_where_the_scheduler_knows_any(
    judged: Judge, scheduler: str | None, weighs: bool
) -> None:
    story = reader()
    story.requests(
        1600, op="write", bytes_=512 * KIB, service=10 * MS, depth=8, own=False, ino=None, tgid=77
    )
    story.tables["devices"] = []
    story.device(DISK, scheduler=scheduler)
    found = leads(judged(story), "device-contended", 0.7)
    assert any("higher I/O priority" in one for one in found.remedies) is weighs
    assert any("echo bfq > /sys/block/sda/" in one for one in found.remedies) != weighs


def test_not_at_another_time(judged: Judge) -> None:
    """A neighbour's burst while the command computes: 20 times its bytes, and no delay."""
    story = Story(2.0).caller("pread64", 100, blocked=9 * MS, jump=True, gap="user")
    story.requests(100, service=9 * MS, jump=True)
    before = len(story.tables["block_requests"])
    story.requests(
        1600, op="write", bytes_=512 * KIB, service=MS, depth=8, own=False, ino=None, tgid=77
    )
    # All of the burst in one tenth of a second.
    for row in story.tables["block_requests"][before:]:
        took = row["complete_ns"] - row["queue_ns"]
        row["queue_ns"] = START + (row["queue_ns"] - START) // 20
        row["issue_ns"] = row["queue_ns"]
        row["complete_ns"] = row["queue_ns"] + 10 * took
    absent(judged(story), "device-contended")


def test_not_on_another_device(judged: Judge) -> None:
    story = reader().device(9 << 20, "sdb")
    story.requests(1600, op="write", service=10 * MS, depth=8, own=False, ino=None, dev=9 << 20)
    absent(judged(story), "device-contended")


def test_not_by_a_little(judged: Judge) -> None:
    story = reader().requests(60, op="write", service=10 * MS, own=False, ino=None, tgid=77)
    absent(judged(story), "device-contended")


def test_not_shared_work_of_kernel_threads(judged: Judge) -> None:
    story = reader().requests(1600, op="write", service=10 * MS, own=None, kind="journal", depth=8)
    absent(judged(story), "device-contended")


def test_the_neighbour_is_the_process_with_most_time_whatever_its_files(judged: Judge) -> None:
    """The report names the same: a process of many files, each of them small, before one with one file."""
    story = reader()
    for file in range(8):
        story.requests(
            300,
            op="write",
            bytes_=256 * KIB,
            service=10 * MS,
            depth=2,
            own=False,
            ino=900 + file,
            tgid=77,
        )
    story.requests(
        600, op="write", bytes_=256 * KIB, service=10 * MS, depth=4, own=False, ino=950, tgid=78
    )
    story.add("neighbours", tgid=77, comm="backup").add("neighbours", tgid=78, comm="other")
    verdict = judged(story)
    assert tells(chain(leads(verdict, "device-contended", 0.7)), "backup", "process 77")


def placed(story: Story, since: int, begin: float, end: float) -> Story:
    """The requests from number `since` on, in a part of the run."""
    for row in story.tables["block_requests"][since:]:
        took = row["complete_ns"] - row["queue_ns"]
        row["queue_ns"] = (
            START + int(begin * story.elapsed) + int((row["queue_ns"] - START) * (end - begin))
        )
        row["issue_ns"] = row["queue_ns"]
        row["complete_ns"] = row["queue_ns"] + took
    return story


def sync_behind_others(name: str, count: int, ours_from: float) -> Story:
    """What others made dirty is written first; then, or all the time, what the commit writes."""
    story = Story(2.0).caller(
        name, count, blocked=1900 * MS // count, bytes_=None, reason="page_writeback"
    )
    story.requests(
        1600, op="write", bytes_=512 * KIB, service=8 * MS, depth=8, own=False, ino=None, tgid=77
    )
    placed(story, 0, 0.0, 0.7)
    since = len(story.tables["block_requests"])
    story.requests(90, op="write", service=4 * MS, own=None, kind="journal")
    story.requests(6, op="write", service=20 * MS)
    return placed(story, since, ours_from, 0.98)


def test_a_sync_that_commits_after_what_others_made_dirty(judged: Judge) -> None:
    """Its own requests come when those of the others are done: it waited for these all the same."""
    leads(judged(sync_behind_others("syncfs", 1, 0.75)), "device-contended", 0.8)


def test_not_where_its_own_requests_are_what_it_waits_for(judged: Judge) -> None:
    """The near miss: a request that may be its own is in flight most of the time, and hardly ever beside theirs."""
    story = Story(2.0).caller("fsync", 100, blocked=18 * MS, bytes_=None, reason="journal_commit")
    story.requests(180, op="write", service=9 * MS, own=None, kind="journal")
    since = len(story.tables["block_requests"])
    story.requests(
        3200, op="write", bytes_=512 * KIB, service=MS, depth=8, own=False, ino=None, tgid=77
    )
    placed(story, since, 0.0, 0.3)
    absent(judged(story), "device-contended")


@pytest.mark.parametrize(("others", "listed"), [(100, True), (30, False)])
def test_a_deep_queue_of_its_own_does_not_hide_who_is_served_before_it(
    judged: Judge, others: int, listed: bool
) -> None:
    """Of what is read ahead 32 requests wait at once, of the others' writes one; the device does one after the other."""
    story = Story(2.0).caller("read", 100, blocked=18 * MS)
    story.requests(100).requests(others, op="write", own=False, ino=None, tgid=77)
    rows = story.tables["block_requests"]
    step = story.elapsed // len(rows)
    for at, row in enumerate(rows):
        done = START + step * (1 + at * 37 % len(rows))
        begin = max(START, done - (32 if row["tgid"] == 10 else 1) * step)
        row |= {"queue_ns": begin, "issue_ns": begin, "complete_ns": done}
    found = finding(judged(story), "device-contended")
    assert (found is not None) is listed
    assert found is None or found.gain == pytest.approx(0.9 * others / len(rows), abs=0.05)


@pytest.mark.parametrize(("others", "listed"), [(100, True), (60, False)])
def test_a_third_of_the_device_is_no_longer_its_own(
    judged: Judge, others: int, listed: bool
) -> None:
    """Others' requests are in flight as long as a third of all, or a quarter, always next to its own."""
    story = reader()
    story.requests(others, service=10 * MS, own=False, jump=True, ino=None, tgid=77)
    found = finding(judged(story), "device-contended")
    assert (found is not None) is listed
    assert found is None or found.gain == pytest.approx(0.9 * 100 / 280, abs=0.05)
