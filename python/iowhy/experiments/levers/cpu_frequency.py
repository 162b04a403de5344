"""Slower CPUs: the highest clock that cpufreq may choose (Documentation/admin-guide/pm/cpufreq)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments.in_child import bind_cpus
from iowhy.experiments.lever import Effect, Level, Lever, percent
from iowhy.experiments.setting import Setting
from iowhy.quantities import share

POLICIES = Path("/sys/devices/system/cpu/cpufreq")


class CpuFrequency(Lever, frozen=True):
    """A level of 0.5 halves the clock of one frequency domain, and the command is bound to it.

    Others on those CPUs are slowed too, so it is only taken when named.
    """

    root: Path = POLICIES
    name: str = "cpu-frequency"
    resource: str = "clock"
    bound: str = "CPU"
    needs: str = "root and a cpufreq driver (virtual machines mostly have none)"
    explicit: bool = True
    cost: int = 2

    def refusal(self, setting: Setting) -> str | None:  # noqa: ARG002
        """No driver, no rights, or no room between the lowest and highest clock."""
        policy = self._policy()
        if policy is None:
            return "no cpufreq driver here"
        if not os.access(policy / "scaling_max_freq", os.W_OK):
            return f"may not write {policy}/scaling_max_freq (needs root)"
        return None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:  # noqa: ARG002
        """Shares of the highest clock, none below the lowest."""
        policy = self._policy()
        if policy is None:
            raise Problem("no-cpufreq", name=self.name)
        least = _number(policy / "cpuinfo_min_freq") / _number(policy / "scaling_max_freq")
        values = [share(self.name, text) for text in asked] or [max(0.5, least)]
        for value in values:
            if value < least or least >= 1:
                raise Problem("clock-too-low", name=self.name, value=value, least=least)
        return tuple(Level(percent(value), str(value), value) for value in values)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Limits one policy's clock and binds the command to its CPUs."""
        policy = self._policy()
        if policy is None:
            raise Problem("no-cpufreq", name=self.name)
        knob = policy / "scaling_max_freq"
        allowed = os.sched_getaffinity(0)
        cpus = [int(cpu) for cpu in (policy / "affected_cpus").read_text().split()]
        with setting.undo.scope():
            before = _number(knob)
            setting.undo.write_file(knob)
            try:
                knob.write_text(str(round(before * float(level.key))))
            except OSError as error:
                raise Problem("knob-unwritable", knob=knob, error=error.strerror) from None
            yield Effect(
                in_child=(bind_cpus([cpu for cpu in cpus if cpu in allowed]),),
                # The driver may have set the nearest clock that it has.
                after=lambda _: {"factor": _number(knob) / before},
            )

    def _policy(self) -> Path | None:
        allowed = os.sched_getaffinity(0)
        for policy in sorted(self.root.glob("policy*")):
            try:
                cpus = {int(cpu) for cpu in (policy / "affected_cpus").read_text().split()}
            except (OSError, ValueError):
                continue
            if cpus & allowed:
                return policy
        return None


def _number(path: Path) -> float:
    return float(path.read_text())


LEVER = CpuFrequency()
