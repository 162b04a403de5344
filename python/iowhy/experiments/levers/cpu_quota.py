"""Less CPU time: a control group's quota on the CPUs that the command uses at once."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.experiments import groups
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import Effect, Level, Lever, percent
from iowhy.experiments.setting import Setting
from iowhy.quantities import share

# Short against the default of 100 ms, so that the quota slows evenly and does not just stop the
# command for long; 1 ms is the least quota that the kernel takes (Documentation/scheduler/sched-bwc),
# so that a small share needs a longer period.
PERIOD_US = 10_000
_LEAST_US = 1000


class CpuQuota(Lever, frozen=True):
    """A level of 0.5 leaves half a CPU for each CPU in use at once.

    What is limited is the rate while it runs, not its total: a command that mostly waits stays
    below the quota and hardly changes, as it would hardly change on a CPU of half the speed.
    """

    name: str = "cpu-quota"
    resource: str = "CPU"
    bound: str = "CPU"
    needs: str = "root, or a delegated control group with the cpu controller"
    cost: int = 1

    def refusal(self, setting: Setting) -> str | None:  # noqa: ARG002
        """Without the controller there is no quota; cpu-pin then squeezes the CPU."""
        found = groups.find("cpu")
        return f"{found}; cpu-pin can squeeze the CPU instead" if isinstance(found, str) else None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:  # noqa: ARG002
        """Shares of the CPUs in use."""
        values = [share(self.name, text) for text in asked] or [0.7, 0.5]
        return tuple(Level(percent(value), str(value), value) for value in values)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """One group per trial, so that no throttling is carried over."""
        at_once = math.ceil(setting.profile.cpus - 0.1)
        share = float(level.key) * at_once
        period = max(PERIOD_US, math.ceil(_LEAST_US / share))
        quota = round(share * period)
        with setting.undo.scope():
            group = groups.make("cpu", "cpu", setting.undo)
            if group.version == 2:
                group.write("cpu.max", f"{quota} {period}")
            else:
                group.write("cpu.cfs_period_us", str(period))
                group.write("cpu.cfs_quota_us", str(quota))
            yield Effect(in_child=(enter_group(group.procs),), after=lambda _: group.held())


LEVER = CpuQuota()
