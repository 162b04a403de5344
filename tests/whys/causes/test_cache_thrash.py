"""cache-thrash: read again what was read."""

import pytest

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


ROOMY = {"memory_limit_bytes": 2 * GIB, "memory_bytes": GIB, "cached_bytes": GIB}


def test_a_limit_evicts(judged: Judge) -> None:
    story = reader().passes([0.0] * 4, pages=16_384).evicted(40_000, reclaimed=40_000)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, memory_limit_hits=900)
    found = leads(judged(story), "cache-thrash", 0.6)
    assert (
        "100 % of the 40,000 pages of what was read again that left the cache went for one reason: the limit"
        in chain(found)
    )
    assert any("raise the memory limit" in text for text in found.remedies)
    assert not any("a machine with more memory" in text for text in found.remedies)


def test_no_limit_is_raised_where_there_is_none(judged: Judge) -> None:
    found = leads(judged(reader().passes([0.0] * 4, pages=16_384)), "cache-thrash", 0.6)
    assert "use a machine with more memory" in found.remedies
    assert not any("memory limit" in text for text in found.remedies)


@pytest.mark.parametrize(
    ("comm", "reclaimed", "said", "remedy"),
    [
        ("kdamond.0", 40_000, "DAMON, which frees", "turn DAMON's proactive reclaim off"),
        ("sh", 0, "another program dropped them", "have that program drop nothing"),
    ],
)
def test_what_would_fit_is_taken_by_another(
    judged: Judge, comm: str, reclaimed: int, said: str, remedy: str
) -> None:
    """More memory would not help, and is not offered."""
    story = reader().passes([0.0] * 4, pages=16_384).group(**ROOMY)
    found = leads(
        judged(story.evicted(40_000, reclaimed=reclaimed, tgid=77, comm=comm)), "cache-thrash", 0.6
    )
    assert said in chain(found)
    assert f"{comm} (process 77)" in chain(found)
    assert remedy in found.remedies[0]
    assert not any("memory limit" in text or "more memory" in text for text in found.remedies)


def test_its_own_advice_gives_pages_up(judged: Judge) -> None:
    story = reader().passes([0.0] * 4, pages=16_384).group(**ROOMY)
    found = leads(judged(story.evicted(40_000, reclaimed=0)), "cache-thrash", 0.6)
    assert "the command itself gave them up" in chain(found)


def test_kswapd_is_named_beside_a_little_of_others(judged: Judge) -> None:
    story = reader().passes([0.0] * 4, pages=16_384)
    story.evicted(30_000, reclaimed=30_000, tgid=78, comm="kswapd0")
    story.evicted(10_000, reclaimed=0, tgid=79, comm="sh")
    found = leads(judged(story), "cache-thrash", 0.6)
    assert "75 % of the 40,000 pages" in chain(found)
    assert "kswapd, as the machine is short of memory; most by kswapd0" in chain(found)


def test_what_was_removed_is_no_reason_for_what_was_read_again(judged: Judge) -> None:
    """Most of what left the cache were files that the command removed itself; nobody missed these."""
    story = reader().passes([0.0] * 4, pages=16_384).evicted(40_000, reclaimed=40_000)
    story.evicted(200_000, reclaimed=0, ino=707)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, memory_limit_hits=900)
    found = leads(judged(story), "cache-thrash", 0.6)
    assert "100 % of the 40,000 pages of what was read again" in chain(found)
    assert "the limit of its control group" in chain(found)
    assert any("raise the memory limit" in text for text in found.remedies)
    # The near miss: what was given up is what was read again.
    story = reader().passes([0.0] * 4, pages=16_384).evicted(40_000, reclaimed=40_000)
    story.evicted(200_000, reclaimed=0)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, memory_limit_hits=900)
    found = leads(judged(story), "cache-thrash", 0.6)
    assert "the command itself gave them up" in chain(found)
