"""Readahead of the device: how much is read ahead of a program that reads in order."""

from collections.abc import Sequence
from pathlib import Path

from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, FileKnob, Kept, Value, kept_for_device, queue_file
from iowhy.whys import classes

_STEPS_KB = (16, 128, 1024, 4096)


class ReadAhead(FileKnob, frozen=True):
    """More for files that are read in order, less for places at random."""

    name: str = "read_ahead_kb"
    bounded_by: str = "in-memory"

    def path(self, setting: Setting) -> Path | None:
        """Of the queue."""
        return queue_file(setting, self.name)

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """Larger ones; smaller ones first if pages are read in vain."""
        now = self.now(setting)
        if now is None or not now.isdigit():
            return ()
        in_vain = clues.trouble("jumps")
        more = [step for step in _STEPS_KB if step >= 2 * int(now)]
        less = [step for step in _STEPS_KB if 2 * step <= int(now)]
        found = [*less, *more] if in_vain else [*more, *reversed(less)]
        # Reads past the page cache have no readahead.
        worth = clues.share(classes.READ) - clues.direct_reads
        return [Value(now, str(one), worth) for one in found]

    def keep(self, then: str, setting: Setting) -> Kept:
        """A rule of udev."""
        return kept_for_device(self.name, then, setting)


KNOB = ReadAhead()
