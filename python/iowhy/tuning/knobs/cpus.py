"""The CPUs that the command may use."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iowhy.experiments.in_child import bind_cpus
from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.tuning.knobs.io_priority import unit_drop_in
from iowhy.whys import classes


class Cpus(Knob, frozen=True):
    """All of them, if it is bound to some; one, if its threads hand each other work."""

    name: str = "cpus"
    bounded_by: str = "cpus-twice"

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:  # noqa: ARG002
        """All of them, or one."""
        mine, there = len(os.sched_getaffinity(0)), os.cpu_count() or 1
        if mine < there:
            waits = clues.share(classes.RUNNABLE)
            return [Value(str(mine), str(there), waits)]
        if there == 1 or not clues.known:
            return ()
        return [Value(str(mine), "1", clues.share(classes.LOCK) / 2)]

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """In the command's process."""
        yield Effect(in_child=(bind_cpus(range(int(level.key))),))

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A drop-in."""
        those = f"0-{int(then) - 1}" if then != "1" else "0"
        return unit_drop_in("cpus", f"CPUAffinity={those}", f"taskset -c {those}")


KNOB = Cpus()
