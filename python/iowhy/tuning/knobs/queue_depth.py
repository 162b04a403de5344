"""Requests that the scheduler holds for the device."""

from collections.abc import Sequence
from pathlib import Path

from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, FileKnob, Kept, Value, kept_for_device, queue_file, read
from iowhy.whys import classes

_FACTOR = 4
_PART = 0.25


class QueueDepth(FileKnob, frozen=True):
    """More, to merge and order; fewer, so that syncs and reads do not queue behind others."""

    name: str = "nr_requests"

    def path(self, setting: Setting) -> Path | None:
        """Of the queue."""
        return queue_file(setting, self.name)

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """One in the direction that could help."""
        now = self.now(setting)
        if now is None or not now.isdigit() or int(now) < _FACTOR:
            return ()
        if clues.next_to_others:
            return [Value(now, str(int(now) // _FACTOR), _PART * clues.next_to_others)]
        scheduler = queue_file(setting, "scheduler")
        if scheduler is not None and read(scheduler) == "none":
            return ()  # The depth is the device's own; the kernel refuses more (EINVAL).
        waits = clues.storage + (clues.share(classes.THROTTLED) if clues.known else 0.0)
        return [Value(now, str(int(now) * _FACTOR), _PART * waits)]

    def keep(self, then: str, setting: Setting) -> Kept:
        """A rule of udev."""
        return kept_for_device(self.name, then, setting)


KNOB = QueueDepth()
