"""A clock that jumps takes no recording away, and what was recorded in a future that is none is the first to go."""

from pathlib import Path

import pytest

from iowhy.agent import retention
from iowhy.agent.wall_clock import WallClock
from tests.agent.test_retention import kept, now_s

DAY_S = 86_400.0
WEEK_NS = 7 * 86_400 * 10**9


class Clocks:
    """Both clocks: one that anybody sets, and one that nobody does."""

    def __init__(self, wall_s: float) -> None:
        self.wall_s, self.boot_s = wall_s, 1000.0
        self.seen = WallClock(lambda: self.wall_s, lambda: int(self.boot_s * 1e9))

    def on(self, seconds: float, set_by: float = 0.0) -> float | None:
        """Time goes on, and somebody sets the clock."""
        self.wall_s += seconds + set_by
        self.boot_s += seconds
        return self.seen.jumped_s()


@pytest.mark.parametrize("by_s", [3600.0, -3600.0, 400 * DAY_S, -50 * 365 * DAY_S])
def test_a_jump_is_seen_once_with_its_length(by_s: float) -> None:
    clocks = Clocks(1_790_000_000)
    assert clocks.on(10) is None
    assert clocks.on(10, by_s) == pytest.approx(by_s)
    assert clocks.on(10) is None
    # A clock that is slewed is none that jumps.
    assert clocks.on(3600, 1.8) is None


def test_nothing_goes_because_the_clock_was_set_forward(tmp_path: Path) -> None:
    path = kept(tmp_path, 9, "101500-agent")
    clocks = Clocks(now_s(tmp_path))

    def gone() -> list[Path]:
        return retention.prune(tmp_path, 1 << 40, WEEK_NS, clocks.seen.now_s())

    clocks.on(60, 400 * DAY_S)
    assert gone() == []
    clocks.on(6.9 * DAY_S)
    assert gone() == []
    clocks.on(0.2 * DAY_S)
    assert gone() == [path]


def test_nothing_goes_early_when_the_clock_is_right_again(tmp_path: Path) -> None:
    path = kept(tmp_path, 9, "101500-agent")
    clocks = Clocks(now_s(tmp_path))
    clocks.on(60, 400 * DAY_S)
    clocks.on(60, -400 * DAY_S)
    assert retention.prune(tmp_path, 1 << 40, WEEK_NS, clocks.seen.now_s()) == []
    clocks.on(7.1 * DAY_S)
    assert retention.prune(tmp_path, 1 << 40, WEEK_NS, clocks.seen.now_s()) == [path]
    # One that was set back by itself keeps all longer, never shorter.
    clocks.on(0, -3 * DAY_S)
    assert clocks.seen.now_s() == clocks.wall_s


def test_what_a_wrong_future_left_makes_room_for_today(tmp_path: Path) -> None:
    future, old, new = (
        kept(tmp_path, 25, "000000-agent"),
        kept(tmp_path, 20, "101500-agent"),
        kept(tmp_path, 23, "101500-agent"),
    )
    each = retention.kept(tmp_path)[0].bytes

    def gone(most: int) -> list[Path]:
        now = now_s(tmp_path)
        return retention.prune(tmp_path, most, WEEK_NS, now, today="2026-11-23")

    assert gone(each * 2) == [future]
    assert gone(each) == [old]
    assert new.exists()


def test_today_is_what_the_clock_shows() -> None:
    clocks = Clocks(0)
    assert clocks.seen.today() == "1970-01-01"
    clocks.on(0, 1_795_435_200)
    assert clocks.seen.today() == "2026-11-23"
