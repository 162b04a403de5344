"""The wall clock, which somebody may set while the agent runs: how old recordings are goes on as if nobody had."""

import time
from collections.abc import Callable

from iowhy.agent.triggers import boot_ns

#: What is no jump: a clock that is slewed (500 ppm at most) over the longest interval.
TOLERANCE_S = 5.0


class WallClock:
    """Follows jumps by the clock that nobody can set. One before the agent started is not known."""

    def __init__(
        self, wall_s: Callable[[], float] = time.time, boot: Callable[[], int] = boot_ns
    ) -> None:
        self._wall_s, self._boot_ns = wall_s, boot
        self._offset_s = self._offset()
        self._ahead_s = 0.0

    def _offset(self) -> float:
        return self._wall_s() - self._boot_ns() / 1e9

    def jumped_s(self) -> float | None:
        """By how much it was set since it was last asked; None: it was not."""
        offset_s = self._offset()
        by_s, self._offset_s = offset_s - self._offset_s, offset_s
        if abs(by_s) < TOLERANCE_S:
            return None
        # What was recorded before it was set forward is no older for that; set back, nothing grows older than it is.
        self._ahead_s = max(self._ahead_s + by_s, 0.0)
        return by_s

    def now_s(self) -> float:
        """What ages are counted from."""
        return self._wall_s() - self._ahead_s

    def today(self) -> str:
        """The day (UTC) that it shows, YYYY-MM-DD."""
        return time.strftime("%Y-%m-%d", time.gmtime(self._wall_s()))
