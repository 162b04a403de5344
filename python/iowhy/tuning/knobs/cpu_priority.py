"""The command's CPU priority: before others on the CPUs."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iowhy.experiments import groups
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.tuning.knobs.io_priority import unit_drop_in
from iowhy.whys import classes

#: Ten steps of nice are about ten times the share of a CPU (sched(7)).
_WEIGHTS = {1: ("cpu.shares", "10240"), 2: ("cpu.weight", "1000")}


class CpuPriority(Knob, frozen=True):
    """Higher by ten steps.

    Linux divides CPUs among groups first, by default one for each session (autogroup): nice is heeded within one. So the command gets a group
    with as much weight.
    """

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
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """In the command's process, and in a group of its own if one can be made."""

        def hook() -> None:
            os.setpriority(os.PRIO_PROCESS, 0, int(level.key))

        if isinstance(groups.find("cpu"), str):
            yield Effect(in_child=(hook,))
            return
        with setting.undo.scope():
            group = groups.make("cpu", "cpu", setting.undo)
            group.write(*_WEIGHTS[group.version])
            yield Effect(in_child=(enter_group(group.procs), hook), after=lambda _: group.held())

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A drop-in."""
        return unit_drop_in(
            "nice",
            f"Nice={then}\nCPUWeight=1000",
            f"systemd-run --scope -p CPUWeight=1000 nice -n {then}",
        )


KNOB = CpuPriority()
