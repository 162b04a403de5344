"""The command's CPU priority: before others on the CPUs."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.tuning.knobs.io_priority import unit_drop_in
from iowhy.whys import classes


class CpuPriority(Knob, frozen=True):
    """Higher by ten steps."""

    name: str = "nice"
    about_others: bool = True

    def refusal(self, setting: Setting) -> str | None:  # noqa: ARG002
        """Needs root."""
        return None if os.geteuid() == 0 else "only root gives a higher priority"

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:  # noqa: ARG002
        """One."""
        now = os.getpriority(os.PRIO_PROCESS, 0)
        then = max(-20, now - 10)
        return [Value(str(now), str(then), clues.share(classes.RUNNABLE) if clues.known else 0.1)]

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """In the command's process."""
        yield Effect(in_child=(lambda: os.setpriority(os.PRIO_PROCESS, 0, int(level.key)),))

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A drop-in."""
        return unit_drop_in("nice", f"Nice={then}", f"nice -n {then}")


KNOB = CpuPriority()
