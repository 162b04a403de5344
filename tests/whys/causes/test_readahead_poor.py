"""readahead-poor: brought and not used, or not brought."""

from ..conftest import Judge, absent, leads
from ..made import KIB, MS, Story


def reader(jump: bool, request: int) -> Story:
    story = Story(2.0).caller("pread64", 400, blocked=int(4.5 * MS), jump=jump, bytes_=4 * KIB)
    return story.requests(400, bytes_=request, service=int(1.9 * MS), jump=jump)


def test_pages_that_nobody_uses(judged: Judge) -> None:
    story = reader(True, 128 * KIB).cache(lookups=400, misses=400, readahead=12_000, used=100)
    leads(judged(story), "readahead-poor", 0.8)


def test_reads_in_order_without_readahead(judged: Judge) -> None:
    story = reader(False, 4 * KIB).cache(lookups=4000, misses=4000)
    leads(judged(story), "readahead-poor", 0.8)


def test_not_when_the_pages_are_used(judged: Judge) -> None:
    story = reader(False, 128 * KIB).cache(lookups=12_800, misses=400, readahead=12_000)
    absent(judged(story), "readahead-poor")


def test_not_random_reads_without_readahead(judged: Judge) -> None:
    story = reader(True, 4 * KIB).cache(lookups=4000, misses=4000)
    absent(judged(story), "readahead-poor")
