"""Limits of the command's control group on its I/O or memory."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.levers.io_unlimited import LEVER as IO
from iowhy.experiments.levers.memory_unlimited import LEVER as MEMORY
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.tuning.knobs.io_priority import unit_drop_in
from iowhy.whys import classes

_LEVERS = {"I/O": IO, "memory": MEMORY}
_LINES = {"I/O": "IOReadBandwidthMax=\nIOWriteBandwidthMax=\nIOReadIOPSMax=\nIOWriteIOPSMax=", "memory": "MemoryHigh=infinity\nMemoryMax=infinity"}  # fmt: skip


class GroupLimits(Knob, frozen=True):
    """Without them."""

    name: str = "group-limits"

    def refusal(self, setting: Setting) -> str | None:
        """Needs such a limit around us."""
        why = [one.refusal(setting) for one in _LEVERS.values()]
        return None if None in why else why[0]

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """The one that is there."""
        worth = {
            "I/O": clues.share(classes.THROTTLED, classes.READ, classes.WRITE),
            "memory": clues.share(classes.MEMORY, classes.READ),
        }
        return [
            Value(f"{name} limited", name, worth[name])
            for name, lever in _LEVERS.items()
            if lever.refusal(setting) is None
        ]

    def level(self, value: Value) -> Level:
        """Named by what is no longer limited."""
        return Level(f"{value.now} → not", value.then, None)

    def apply(self, level: Level, setting: Setting) -> AbstractContextManager[Effect]:
        """As the lever does."""
        lever = _LEVERS[level.key]
        assert lever.only is not None
        return lever.apply(lever.only, setting)

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A drop-in."""
        return unit_drop_in("limits", _LINES[then], "systemd-run --scope")


KNOB = GroupLimits()
