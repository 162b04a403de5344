"""random-access: the application jumps, and the device pays for it."""

from pathlib import Path

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, judge_with_rows, leads, links_of, sentence
from ..made import KIB, MIB, MS, START, Row, Story, job


def test_a_disk_that_seeks_for_every_read(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 190, blocked=10 * MS, jump=True)
    story.requests(190, service=10 * MS, jump=True).cache(lookups=200, misses=200)
    leads(judged(story), "random-access", 0.9)


def test_through_mmap_told_from_the_layout(judged: Judge) -> None:
    story = Story(2.0).thread(blocked=0.9)
    for number in range(180):
        story.wait(1_000_000_000_000 + number * 11 * MS, 10 * MS, "page_read", None)
    story.requests(180, service=10 * MS, jump=True).extents(1, 64 * MIB)
    found = leads(judged(story), "random-access", 0.8)
    assert found.against


def mapped(calls: int, blocked: int) -> Story:
    """Calls jump, and what waits 5 ms for each of 300 pages is a mapped file of 64 MiB."""
    story = Story(4.0).caller("pread64", calls, blocked=blocked, jump=True, gap_share=0.1)
    story.thread(11, blocked=0.45)
    for number in range(300):
        story.wait(START + number * 13 * MS, 6 * MS, "page_read", None, tid=11)
    story.requests(300, service=6 * MS, jump=True, ino=1200).file(1200, "/srv/mapped", 64 * MIB)
    return story.cache(lookups=400, misses=300, ino=1200)


def test_jumps_of_calls_that_hardly_wait_say_nothing_of_page_faults(judged: Judge) -> None:
    """git reads its pack by jumping calls, warm, and maps a thousand small files that are cold."""
    verdict = judged(mapped(300, 0))
    absent(verdict, "random-access")
    cold = finding(verdict, "cache-cold")
    assert cold is not None and cold.share > 0.4, verdict.answer


def test_beside_page_faults_it_claims_what_the_calls_wait(judged: Judge) -> None:
    story = mapped(190, 10 * MS).requests(190, service=10 * MS, jump=True)
    verdict = judged(story)
    assert verdict.budget.elapsed("waiting to read") > 0.8
    found = finding(verdict, "random-access")
    assert found is not None and 0.4 < found.share < 0.5
    said = sentence(links_of(found)["in-these-calls"])
    assert said.values["share"] == pytest.approx(found.share)


def test_not_where_jumps_are_free(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 1500, blocked=900_000, jump=True)
    story.requests(1500, service=900_000, jump=True)
    absent(judged(story), "random-access")


def test_not_by_the_layout(judged: Judge) -> None:
    story = Story(2.0).caller("read", 190, blocked=10 * MS, bytes_=4 * KIB)
    story.requests(190, service=10 * MS, jump=True).extents(4000, 4 * KIB)
    verdict = judged(story)
    absent(verdict, "random-access")
    assert finding(verdict, "file-fragmented") is not None


def test_not_at_the_limit_of_the_device(judged: Judge) -> None:
    story = Story(2.0)
    for tid in range(10, 18):
        story.caller("pread64", 199, tid=tid, blocked=10 * MS, jump=True, reason="direct_io")
    story.requests(8 * 199, service=10 * MS, depth=8, jump=True)
    absent(judged(story), "random-access")


@pytest.mark.parametrize(
    ("read", "led"), [(4, "cache-cold"), (2, "cache-cold"), (1, "random-access")]
)
def test_not_from_one_small_file_to_the_next(judged: Judge, read: int, led: str) -> None:
    """Each is read whole by one call: none jumps in its file. Calls that moved little of it say nothing of the rest."""
    story = Story(2.0).extents(1, 64 * MIB)
    files = list(range(500, 680))
    story.caller("read", 180, blocked=10 * MS, bytes_=read * KIB, ino=files)
    story.requests(180, service=10 * MS, jump=True).cache(lookups=200, misses=200)
    assert judged(story).findings[0].cause == led


#: What is read at 0 every time.
NUMBERS = 7


def _reads_at_0(story: Story, dev: int, ino: int, count: int) -> Story:
    """What a second thread reads at 0, each time 6 bytes, between the reads of the files."""
    for number in range(count):
        story.add(
            "syscalls", ts_ns=START + number * 10 * MS, dur_ns=800, tgid=10, tid=11, name="read",
            fd=4, dev=dev, ino=ino, offset=0, bytes=6, ret=6,
        )  # fmt: skip
    return story


@pytest.mark.parametrize(
    ("path", "kind", "fs", "led"),
    [
        ("/dev/urandom", "device", "devtmpfs", "cache-cold"),
        ("/proc/self/stat", "file", "proc", "cache-cold"),
        ("/srv/header", "file", "ext4", "random-access"),
        ("/dev/sdb", "device", "devtmpfs", "random-access"),
    ],
)
def test_not_by_what_has_no_place(judged: Judge, path: str, kind: str, fs: str, led: str) -> None:
    """As rsync, which reads each file whole and asks for random numbers for the name of each copy."""
    story = Story(2.0).extents(1, 64 * MIB)
    story.caller("read", 180, blocked=10 * MS, bytes_=4 * KIB, ino=list(range(500, 680)))
    story.requests(180, service=10 * MS, jump=True).cache(lookups=200, misses=200)
    story.add("files", dev=6, ino=NUMBERS, path=path, kind=kind, size_bytes=None)
    story.add("filesystems", dev=6, kind=fs, mount="/", options="", disk_dev=None)
    assert judged(_reads_at_0(story, 6, NUMBERS, 190)).findings[0].cause == led


def test_a_job_that_goes_back_in_its_file(tmp_path: Path) -> None:
    row: Row = {"read_count": 5_000, "sized_reads": 5_000, "sequential_reads": 1_000, "read_bytes": 5_000 * 200_000, "last_read": 1e12,
                "read_s": 64 * 40, "slowest_s": 40}  # fmt: skip
    found = leads(judge_with_rows(job(tmp_path / "a", {"POSIX": [row]})), "random-access", 0.39, 0.41)  # fmt: skip
    assert tells(chain(found), "80 %", "5,000")
    absent(judge_with_rows(job(tmp_path / "b", {"POSIX": [{**row, "sequential_reads": 2_600}]})), "random-access")  # fmt: skip


@pytest.mark.parametrize(("mib", "told"), [(1, True), (64, False)])
def test_a_file_of_which_most_is_read_is_read_in_order_before(
    mib: int, told: bool, judged: Judge
) -> None:
    story = Story(2.0).caller("pread64", 190, blocked=10 * MS, jump=True)
    story.requests(190, service=10 * MS, jump=True).cache(lookups=200, misses=200)
    story.extents(1, mib * MIB)
    found = leads(judged(story), "random-access", 0.9)
    assert ("`cat /data/file > /dev/null`" in found.remedies[0]) is told
