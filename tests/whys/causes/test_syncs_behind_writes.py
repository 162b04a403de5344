"""syncs-behind-writes: a log's syncs wait for what the same program writes to other files."""

import pytest

from ..conftest import Judge, absent, finding, leads
from ..made import KIB, MS, Story

LOG, DATA = 500, 700


def story(*, slow: int = 46 * MS, first: int = 12 * MS, times: int = 20) -> Story:
    """Each 100 ms, `times` times: a thread syncs a log twice for 10 ms, another once for `slow`: until what is written to a table
    from `first` on is done."""
    made = Story(times / 10).file(LOG, "/data/log").file(DATA, "/data/table")
    for tid, count, blocked in ((10, 2 * times, 10 * MS), (11, times, slow)):
        made.caller(
            "fdatasync",
            count,
            tid=tid,
            blocked=blocked,
            bytes_=None,
            reason="journal_commit",
            gap="idle",
            ino=LOG,
        )
    made.requests(2 * times, op="write", bytes_=4 * KIB, service=9 * MS, ino=LOG)
    done = max(2 * MS, slow - first)
    return made.requests(times, op="write", bytes_=512 * KIB, service=done, first=first, ino=DATA)


def test_beside_other_data_they_take_longer(judged: Judge) -> None:
    """20 of 46 ms instead of 10: 0.72 of the 2 s."""
    first = leads(judged(story()), "syncs-behind-writes", 0.35, 0.37)
    assert [one.value for one in first.chain if one.unit == "calls"] == [20]
    assert [one.value for one in first.chain if one.unit == "times"] == [pytest.approx(4.6, 0.01)]


def test_not_when_the_other_data_is_written_between_them(judged: Judge) -> None:
    absent(judged(story(first=70 * MS)), "syncs-behind-writes")


@pytest.mark.parametrize(("slow", "found"), [(14 * MS, False), (16 * MS, True)])
def test_half_as_long_again_is_more_than_noise(judged: Judge, slow: int, found: bool) -> None:
    verdict = judged(story(slow=slow, first=11 * MS))
    assert (finding(verdict, "syncs-behind-writes") is not None) == found


@pytest.mark.parametrize(("times", "found"), [(4, False), (5, True)])
def test_a_few_may_be_chance(judged: Judge, times: int, found: bool) -> None:
    verdict = judged(story(times=times))
    assert (finding(verdict, "syncs-behind-writes") is not None) == found


def test_not_when_each_sync_carries_much(judged: Judge) -> None:
    """No log, but the data itself."""
    made = story().requests(60, op="write", bytes_=2048 * KIB, service=MS, ino=LOG)
    absent(judged(made), "syncs-behind-writes")
