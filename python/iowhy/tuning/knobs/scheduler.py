"""The I/O scheduler of the device."""

from collections.abc import Sequence
from pathlib import Path

from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import (
    Clues,
    FileKnob,
    Kept,
    Value,
    choices,
    kept_for_device,
    queue_file,
    read,
)

_ALONE = ("none", "mq-deadline", "kyber", "bfq")
_TURNING = ("mq-deadline", "bfq", "none", "kyber")
_SHARED = ("bfq", "kyber", "mq-deadline", "none")
_PART = 0.5
"""Of the waits: requests are ordered otherwise, none of them goes."""


class Scheduler(FileKnob, frozen=True):
    """Which order of requests; one that is fair to those next to others."""

    name: str = "scheduler"

    def path(self, setting: Setting) -> Path | None:
        """Of the queue."""
        return queue_file(setting, self.name)

    def also_resets(self, setting: Setting) -> Sequence[Path]:
        """A scheduler comes with its own depth, and bfq without throttled writeback."""
        found = (queue_file(setting, name) for name in ("nr_requests", "wbt_lat_usec"))
        return [one for one in found if one is not None]

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """Those that the kernel has loaded."""
        path, now = self.path(setting), self.now(setting)
        if path is None or now is None:
            return ()
        turns = read(path.with_name("rotational")) == "1"
        order = _SHARED if clues.next_to_others else _TURNING if turns else _ALONE
        there = [one for one in order if one in choices(path) and one != now]
        worth = max(clues.next_to_others, _PART * clues.storage)
        return [Value(now, one, worth) for one in there]

    def keep(self, then: str, setting: Setting) -> Kept:
        """A rule of udev."""
        return kept_for_device(self.name, then, setting)


KNOB = Scheduler()
