"""cache-cold: the first visit."""

from ..conftest import Judge, absent, leads
from ..made import KIB, MS, Story


def reader(share: float = 0.9) -> Story:
    story = Story(2.0).caller("read", 100, blocked=int(20 * share * MS), bytes_=512 * KIB)
    return story.requests(400, bytes_=128 * KIB, service=int(5 * share * MS))


def test_a_first_pass(judged: Judge) -> None:
    story = reader().cache(lookups=12_800, misses=400, readahead=12_400)
    leads(judged(story), "cache-cold", 0.85)


def test_not_direct_io(judged: Judge) -> None:
    story = reader().cache(lookups=400, misses=400)
    absent(judged(story), "cache-cold")


def test_not_a_warm_cache(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1000, cpu=100_000).cache(lookups=12_800, misses=0)
    absent(judged(story), "cache-cold")


def test_not_what_was_evicted(judged: Judge) -> None:
    story = reader().cache(lookups=25_600, readahead=12_800, refaults=11_000)
    absent(judged(story), "cache-cold")
