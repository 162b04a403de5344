"""Throttling of writeback by the device's queue (wbt): writers wait so that reads are quick."""

from collections.abc import Sequence
from pathlib import Path

from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, FileKnob, Kept, Value, kept_for_device, queue_file
from iowhy.whys import classes

_STRICT_US = "2000"
_PART = 0.4


class WritebackThrottling(FileKnob, frozen=True):
    """Off for writers; stricter for reads and syncs next to writers."""

    name: str = "wbt_lat_usec"

    def path(self, setting: Setting) -> Path | None:
        """Of the queue."""
        return queue_file(setting, self.name)

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """One in the direction that could help."""
        now = self.now(setting)
        if now is None:
            return ()
        if clues.next_to_others and now != _STRICT_US:
            return [Value(now, _STRICT_US, _PART * clues.next_to_others)]
        worth = _PART * clues.share(classes.WRITE, classes.SYNC, classes.THROTTLED)
        return [Value(now, "0", worth)] if now != "0" else ()

    def keep(self, then: str, setting: Setting) -> Kept:
        """A rule of udev."""
        return kept_for_device(self.name, then, setting)


KNOB = WritebackThrottling()
