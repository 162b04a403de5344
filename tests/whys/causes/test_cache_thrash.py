"""cache-thrash: read again what was read."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads
from ..made import FILE, GIB, KIB, MIB, MS, START, Story


def reader(seconds: float = 4.0) -> Story:
    story = Story(seconds).caller("read", 300, blocked=12 * MS, bytes_=512 * KIB)
    return story.requests(1200, bytes_=128 * KIB, service=3 * MS, depth=1)


def test_passes_over_more_than_fits(judged: Judge) -> None:
    story = reader().passes([0.0, 0.0, 0.0, 0.0], pages=16_384)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, cached_bytes=40 * MIB)
    found = leads(judged(story), "cache-thrash", 0.6, 0.75)
    text = chain(found)
    assert tells(text, "0 %", "0 %", "0 %", "0 %")
    assert tells(text, "64 MiB", "48 MiB")
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
    assert tells(chain(found), "100 %", "40,000")
    assert any("of memory" in text and "Give" in text for text in found.remedies)
    assert "cache-thrash.more-memory" not in fixes_of(found)


def test_no_limit_is_raised_where_there_is_none(judged: Judge) -> None:
    found = leads(judged(reader().passes([0.0] * 4, pages=16_384)), "cache-thrash", 0.6)
    assert "cache-thrash.more-memory" in fixes_of(found)
    assert not any("Give" in text for text in found.remedies)


@pytest.mark.parametrize(
    ("comm", "reclaimed", "remedy"),
    [
        ("kdamond.0", 40_000, "cache-thrash.damon-off"),
        ("sh", 0, "cache-thrash.keep-from-dropping"),
    ],
)
def test_what_would_fit_is_taken_by_another(
    judged: Judge, comm: str, reclaimed: int, remedy: str
) -> None:
    """More memory would not help, and is not offered."""
    story = reader().passes([0.0] * 4, pages=16_384).group(**ROOMY)
    found = leads(
        judged(story.evicted(40_000, reclaimed=reclaimed, tgid=77, comm=comm)), "cache-thrash", 0.6
    )
    assert f"{comm} (process 77)" in chain(found)
    assert fixes_of(found)[0] == remedy
    assert not any("Give" in text or "more memory" in text for text in found.remedies)


def test_its_own_advice_gives_pages_up(judged: Judge) -> None:
    story = reader().passes([0.0] * 4, pages=16_384).group(**ROOMY)
    found = leads(judged(story.evicted(40_000, reclaimed=0)), "cache-thrash", 0.6)
    assert "the command itself gave them up" in chain(found)


def test_kswapd_is_named_beside_a_little_of_others(judged: Judge) -> None:
    story = reader().passes([0.0] * 4, pages=16_384)
    story.evicted(30_000, reclaimed=30_000, tgid=78, comm="kswapd0")
    story.evicted(10_000, reclaimed=0, tgid=79, comm="sh")
    found = leads(judged(story), "cache-thrash", 0.6)
    assert tells(chain(found), "75 %", "40,000")
    assert "kswapd, as the machine is short of memory; most by kswapd0" in chain(found)


def test_who_took_the_memory_is_the_service_of_both(judged: Judge) -> None:
    story = reader().passes([0.0] * 4, pages=16_384)
    for tgid, comm, pages in ((78, "gzip", 12_000), (79, "tar", 13_000), (80, "cp", 20_000)):
        story.evicted(pages, reclaimed=pages, tgid=tgid, comm=comm)
    for row in story.tables["neighbours"][:2]:
        row["container"] = "backup.service"
    story.add(
        "containers", id="backup.service", name="backup.service", runtime="systemd", cgroup="/b"
    )
    said = chain(leads(judged(story), "cache-thrash", 0.6))
    assert tells(said, "backup.service", "tar", "2 processes")


def test_what_was_removed_is_no_reason_for_what_was_read_again(judged: Judge) -> None:
    """Most of what left the cache were files that the command removed itself; nobody missed these."""
    story = reader().passes([0.0] * 4, pages=16_384).evicted(40_000, reclaimed=40_000)
    story.evicted(200_000, reclaimed=0, ino=707)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, memory_limit_hits=900)
    found = leads(judged(story), "cache-thrash", 0.6)
    assert tells(chain(found), "100 %", "40,000")
    assert "the limit of its control group" in chain(found)
    assert any("of memory" in text and "Give" in text for text in found.remedies)
    # The near miss: what was given up is what was read again.
    story = reader().passes([0.0] * 4, pages=16_384).evicted(40_000, reclaimed=40_000)
    story.evicted(200_000, reclaimed=0)
    story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, memory_limit_hits=900)
    found = leads(judged(story), "cache-thrash", 0.6)
    assert "the command itself gave them up" in chain(found)


def misses_and_hits(miss_cpu: int, *, hits: int = 2_000, reclaim: float = 0.0) -> Story:
    """200 calls that wait 8 ms, of what a CPU needs for each; hits of 0.1 ms between them, and computing in the rest."""
    story = Story(4.0).caller(
        "pread64", 200, blocked=8 * MS, cpu=miss_cpu, bytes_=64 * KIB, gap_share=0.0
    )
    hit = {"cpu_ns": MS // 10, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for number in range(hits):
        at = START + number // 10 * 20 * MS + 9 * MS + miss_cpu + number % 10 * MS // 10
        story.call(at, "pread64", hit, tid=10, ino=FILE, offset=0, bytes_=64 * KIB)
    in_calls = 200 * miss_cpu / (4000 * MS) + hits * 0.1 / 4000
    for row in story.tables["thread_time"]:
        row["cpu_kernel_ns"] = int((in_calls + reclaim) * row["interval_ns"])
        row["cpu_calls_ns"] = int(in_calls * row["interval_ns"])
        row["cpu_reclaim_ns"] = int(reclaim * row["interval_ns"])
        asleep = row["interval_ns"] - row["cpu_kernel_ns"] - row["blocked_ns"]
        row["cpu_user_ns"], row["sleeping_ns"] = asleep, 0
    story.requests(800, bytes_=64 * KIB, service=2 * MS, depth=1)
    return story.passes([0.0] * 4, pages=16_384)


def test_what_misses_take_of_a_cpu_goes_with_them(judged: Judge) -> None:
    """4.1 ms each in the place of 0.1: 20 % of the time, which more memory saves as well as the 30 % of waiting."""
    verdict = judged(misses_and_hits(41 * MS // 10))
    found = leads(verdict, "cache-thrash", 0.44, 0.46)
    assert tells(chain(found), "15 %", "4 ms")


def test_misses_that_take_no_more_than_hits_leave_the_cpu_alone(judged: Judge) -> None:
    """Read ahead in large pieces, a page that was evicted costs a CPU no more than one that is there: it is copied."""
    verdict = judged(misses_and_hits(MS // 10))
    found = finding(verdict, "cache-thrash")
    assert found is not None and found.share == pytest.approx(0.3, abs=0.01)
    assert "CPU time for re-reading" not in chain(found)


def test_without_hits_what_a_miss_takes_is_not_known(judged: Judge) -> None:
    found = finding(judged(misses_and_hits(41 * MS // 10, hits=15)), "cache-thrash")
    assert found is not None and found.share == pytest.approx(0.3, abs=0.01)


def test_making_room_for_them_goes_with_them(judged: Judge) -> None:
    verdict = judged(misses_and_hits(MS // 10, reclaim=0.2))
    found = finding(verdict, "cache-thrash")
    assert found is not None and found.share == pytest.approx(0.3 + 0.75 * 0.2, abs=0.01)
