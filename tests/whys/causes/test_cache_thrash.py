"""cache-thrash: read again what was read."""

from ..conftest import Judge, absent, chain, leads
from ..made import GIB, KIB, MIB, MS, Story


def reader(seconds: float = 4.0) -> Story:
    story = Story(seconds).caller("read", 300, blocked=12 * MS, bytes_=512 * KIB)
    return story.requests(1200, bytes_=128 * KIB, service=3 * MS, depth=1)


def test_passes_over_more_than_fits(judged: Judge) -> None:
    story = reader().passes([0.0, 0.0, 0.0, 0.0], pages=16_384)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, cached_bytes=40 * MIB)
    found = leads(judged(story), "cache-thrash", 0.6, 0.75)
    text = chain(found)
    assert "hit ratio pass by pass: 0 % · 0 % · 0 % · 0 %" in text
    assert "64 MiB would have to fit; the cache may take 48 MiB" in text
    assert "4.0 times over" in text


def test_it_beats_the_device_that_is_busy_with_it(judged: Judge) -> None:
    story = Story(4.0).caller("read", 300, blocked=13 * MS, bytes_=1024 * KIB)
    story.requests(2400, bytes_=128 * KIB, service=13 * MS, depth=8)
    story.passes([0.0] * 4, pages=16_384)
    verdict = judged(story)
    leads(verdict, "cache-thrash", 0.6)
    absent(verdict, "cache-cold")


def test_not_when_only_the_first_pass_misses(judged: Judge) -> None:
    story = reader().passes([0.0, 1.0, 1.0, 1.0], pages=16_384)
    absent(judged(story), "cache-thrash")


def test_not_on_a_first_pass(judged: Judge) -> None:
    story = reader().cache(lookups=40_000, readahead=40_000).file(102, "/data/large", 4 * GIB)
    absent(judged(story), "cache-thrash")


def test_not_when_nothing_waits_to_read(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.9).passes([0.0, 0.0], pages=16_384)
    absent(judged(story), "cache-thrash")


def test_not_when_what_is_used_would_fit_many_times_over(judged: Judge) -> None:
    """Pages that were given up (POSIX_FADV_DONTNEED), not pushed out."""
    story = reader().passes([0.0, 0.0, 0.0, 0.0], pages=16_384)
    story.group(memory_limit_bytes=2 * GIB, memory_bytes=GIB, cached_bytes=GIB)
    absent(judged(story), "cache-thrash")
