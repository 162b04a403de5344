"""cache-cold: the first visit."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads
from ..made import FILE, KIB, MS, START, Story


def reader(share: float = 0.9) -> Story:
    story = Story(2.0).caller("read", 100, blocked=int(20 * share * MS), bytes_=512 * KIB)
    return story.requests(400, bytes_=128 * KIB, service=int(5 * share * MS))


def test_a_first_pass(judged: Judge) -> None:
    story = reader().cache(lookups=12_800, misses=400, readahead=12_400)
    leads(judged(story), "cache-cold", 0.85)


@pytest.mark.parametrize(
    ("of", "remedy"),
    [
        (["/usr/bin/restic"], "restic.read-more"),
        # Its own files are checkpoints: samples have any name.
        (
            ["/usr/lib/libtorch_cpu.so.2", "/usr/lib/torch/utils/data/dataloader.py"],
            "pytorch.workers",
        ),
    ],
)
def test_more_reads_at_once_end_none_of_them(judged: Judge, of: list[str], remedy: str) -> None:
    """Who reads two files at a time waits for half of it; what is in memory already is not waited for at all."""
    files = [1000 + number % 20 for number in range(100)]
    story = Story(2.0).caller("read", 100, blocked=18 * MS, bytes_=512 * KIB, ino=files)
    story.requests(400, bytes_=128 * KIB, service=4 * MS)
    story.cache(lookups=12_800, misses=400, readahead=12_400)
    story.tables["threads"][0]["comm"] = "restic"
    for number, path in enumerate(of, 900):
        story.file(number, path)
    for number in set(files):
        story.file(number, f"/data/{number}")
    fixes = leads(judged(story), "cache-cold", 0.85).fixes
    assert fixes[0].do.id == remedy
    assert fixes[0].gain == pytest.approx(max(one.gain for one in fixes) / 2)


def test_not_what_it_wrote_past_the_cache_itself(judged: Judge) -> None:
    """It reads back what direct writes put on the device: the device is what it waits for, both times."""
    story = Story(4.0)
    for number in range(100):
        parts = {"cpu_ns": 0, "runnable_ns": 0, "blocked_ns": 18 * MS, "sleeping_ns": 0}
        at = START + number * 20 * MS
        story.call(
            at, "write", parts, tid=10, ino=FILE, offset=number * 512 * KIB, bytes_=512 * KIB
        )
        story.wait(at, 18 * MS, "direct_io", "write")
        at += 2000 * MS
        story.call(at, "read", parts, tid=10, ino=FILE, offset=number * 512 * KIB, bytes_=512 * KIB)
        story.wait(at, 18 * MS, "page_read", "read")
    story.thread(blocked=0.9)
    story.requests(200, bytes_=512 * KIB, service=19 * MS)
    story.cache(lookups=12_800, misses=400, readahead=12_400)
    verdict = judged(story)
    absent(verdict, "cache-cold")
    assert "without O_DIRECT" in leads(verdict, "device-saturated", 0.8).remedies[0]


def test_it_names_what_costs_most_and_not_what_has_most_pages(judged: Judge) -> None:
    """A file in one piece of which much is read, and a small one whose pages lie apart: that is the one that is waited for."""
    story = Story(2.0).caller("read", 100, blocked=18 * MS, bytes_=512 * KIB)
    story.file(300, "/data/apart", 64 * KIB).file(301, "/data/whole", 64 << 20)
    story.requests(200, bytes_=4 * KIB, service=8 * MS, jump=True, ino=300)
    story.requests(40, bytes_=512 * KIB, service=2 * MS, jump=True, ino=301)
    story.cache(lookups=200, misses=20, readahead=180, ino=300)
    story.cache(lookups=5120, misses=400, readahead=4720, ino=301)
    found = leads(judged(story), "cache-cold", 0.5)
    said = chain(found)
    assert tells(said, "/data/apart", "95 %")
    assert (
        "do not start where the one queued before ended" in said and "each takes the device" in said
    )


@pytest.mark.parametrize(("faults", "told"), [(0, False), (100, True)])
def test_what_is_gone_at_the_end_is_not_read_again(judged: Judge, faults: int, told: bool) -> None:
    """Calls read a file that is replaced (git's index); where it maps what takes the time, a second run finds that."""
    story = reader(0.5).cache(lookups=12_800, misses=400, readahead=12_400)
    story.file(FILE, "/srv/index", 64 << 20)
    for row in story.tables["files"]:
        row["deleted"] = row["ino"] == FILE
    story.thread(11, blocked=0.9)
    for number in range(faults):
        story.wait(START + number * 19 * MS, 18 * MS, "page_read", None, tid=11)
    found = leads(judged(story), "cache-cold", 0.2)
    assert ("shared.warm-cache" in fixes_of(found)) is told


@pytest.mark.parametrize(("size", "told"), [(0, False), (4096, True)])
def test_what_is_empty_at_the_end_is_not_read_again(judged: Judge, size: int, told: bool) -> None:
    """A log is copied, and cut off (logrotate's copytruncate)."""
    story = reader(0.5).cache(lookups=12_800, misses=400, readahead=12_400)
    story.file(FILE, "/srv/app.log")
    for row in story.tables["files"]:
        row["size_bytes"] = size
    found = leads(judged(story), "cache-cold", 0.2)
    assert ("shared.warm-cache" in fixes_of(found)) is told


def test_not_direct_io(judged: Judge) -> None:
    story = reader().cache(lookups=400, misses=400)
    absent(judged(story), "cache-cold")


def test_not_a_warm_cache(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1000, cpu=100_000).cache(lookups=12_800, misses=0)
    absent(judged(story), "cache-cold")


def test_not_what_was_evicted(judged: Judge) -> None:
    story = reader().cache(lookups=25_600, readahead=12_800, refaults=11_000)
    absent(judged(story), "cache-cold")


@pytest.mark.parametrize(
    ("frame", "more"), [("page_cache_ra_unbounded", True), ("copy_page_to_iter", False)]
)
def test_what_it_computes_to_have_pages_read_goes_where_the_reads_go(
    judged: Judge, frame: str, more: bool
) -> None:
    """Half of the time it waits, and as long it computes in these calls: to fill the page cache, or to copy, which a second run does, too."""
    story = Story(2.0).caller("read", 100, cpu=9 * MS, blocked=9 * MS, bytes_=512 * KIB)
    story.requests(400, bytes_=128 * KIB, service=2 * MS)
    story.cache(lookups=12_800, misses=400, readahead=12_400).stack(3, frame, "vfs_read")
    for number in range(100):
        story.add(
            "stack_samples", ts_ns=START + number * 20 * MS, tgid=10, tid=10, kind="cpu", syscall="read",
            stack_id=3, weight_ns=9 * MS, whole=True,
        )  # fmt: skip
    found = finding(judged(story), "cache-cold")
    assert found is not None
    assert found.share == pytest.approx(0.9 if more else 0.45, abs=0.03)
