"""The order of trials, and when there are enough of them.

Trials come in blocks with one trial of each condition. The order within a block is random, and every
second block mirrors the one before, so that a steady drift weighs on all conditions alike. A trial
that the rest of the machine disturbed is run again, and counted.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from iowhy.experiment import statistics
from iowhy.experiment.answer import Answer, answer
from iowhy.experiment.lever import Level
from iowhy.experiment.load import Others


@dataclass(frozen=True)
class Condition:
    """One level of one lever, or the baseline (``lever`` is None)."""

    lever: str | None = None
    level: Level | None = None

    @property
    def name(self) -> str:
        """For tables and messages."""
        if self.lever is None or self.level is None:
            return "baseline"
        return f"{self.lever} {self.level.label}"


BASELINE = Condition()


@dataclass(frozen=True)
class Trial:
    """One run of the command.

    ``measure`` is what the experiment is about (seconds, or the metric); ``middle_s`` the middle of the
    run on any steady clock. ``factor`` is the share of the resource that was really left.
    """

    condition: Condition
    measure: float
    middle_s: float
    wall_s: float
    user_s: float | None = None
    system_s: float | None = None
    device_bytes: int | None = None
    peak_rss_bytes: int | None = None
    status: int | None = 0
    factor: float | None = None
    reached: Mapping[str, float] = field(default_factory=dict)
    others: Others | None = None
    block: int = 0
    disturbed: bool = False


class LevelFailed(Exception):
    """The command could not be measured under a level: it failed, was killed or took too long."""


class Executor(Protocol):
    """Runs one trial. Raises LevelFailed when a level makes the command fail."""

    def run(self, condition: Condition) -> Trial:
        """Runs the command once under a condition."""


@dataclass(frozen=True)
class Plan:
    """How many blocks of trials: ``least`` to ``most``; equal numbers leave out early stopping."""

    seed: int
    least: int = 5
    most: int = 20
    higher_is_better: bool = False


_LEAST_CPU_S = 0.05
_LEAST_BYTES = 4e6


@dataclass
class Watch:
    """Tells a disturbed trial: one with clearly more load of others than the quietest of its kind.

    ``cpus`` more CPUs in use, or ``disk_bytes_per_s`` more disk traffic (and twice as much).
    """

    cpus: float
    disk_bytes_per_s: float = 20e6
    _quietest: dict[Condition, Others] = field(default_factory=dict)

    def disturbed(self, trial: Trial) -> bool:
        """Whether this trial should be run again."""
        now = trial.others
        if now is None:
            return False
        least = self._quietest.get(trial.condition, now)
        self._quietest[trial.condition] = Others(
            min(least.cpus, now.cpus), min(least.disk_bytes_per_s, now.disk_bytes_per_s)
        )
        more_cpus = now.cpus - least.cpus
        more_disk = now.disk_bytes_per_s - least.disk_bytes_per_s
        # A short trial catches whole ticks of the kernel's accounting or none: that is no load.
        if more_cpus > self.cpus and more_cpus * trial.wall_s > _LEAST_CPU_S:
            return True
        more_bytes = more_disk * trial.wall_s
        return (
            more_disk > max(self.disk_bytes_per_s, least.disk_bytes_per_s)
            and more_bytes > _LEAST_BYTES
        )


@dataclass(frozen=True)
class Progress:
    """Told before each trial: how many are done, how many may come, seconds a trial takes so far."""

    condition: Condition
    block: int
    done: int
    at_most: int
    mean_s: float | None


@dataclass
class Conducted:
    """All trials, the answers by lever, and what went wrong on the way."""

    trials: list[Trial]
    answers: dict[str, Answer]
    blocks: int
    repeated: int = 0
    kept_disturbed: int = 0
    failed: dict[Condition, str] = field(default_factory=dict)


def conduct(
    levers: Mapping[str, Sequence[Level]],
    executor: Executor,
    plan: Plan,
    *,
    watch: Watch | None = None,
    tell: Callable[[Progress], None] = lambda _: None,
) -> Conducted:
    """Runs trials until every lever is resolved or ``plan.most`` blocks are done."""
    order = random.Random(plan.seed)
    when_to_look = statistics.looks(plan.least, plan.most)
    out = Conducted([], {}, 0)
    active = {name: list(found) for name, found in levers.items()}
    repeats_left = 2 + sum(len(found) for found in levers.values()) * plan.most // 4
    spent_s = 0.0
    sequence: list[Condition] = []
    for block in range(plan.most):
        conditions = [BASELINE] + [
            Condition(name, level) for name, found in active.items() for level in found
        ]
        if block % 2 == 0:
            sequence = order.sample(conditions, len(conditions))
        else:
            sequence = [one for one in reversed(sequence) if one in conditions]
        for place, condition in enumerate(sequence):
            if condition in out.failed:
                continue
            while True:
                done = len(out.trials)
                at_most = done + (plan.most - block) * len(conditions) - place
                tell(Progress(condition, block, done, at_most, spent_s / done if done else None))
                try:
                    trial = executor.run(condition)
                except LevelFailed as failure:
                    out.failed[condition] = str(failure)
                    if condition.lever is not None:
                        active[condition.lever].remove(condition.level)  # type: ignore[arg-type]
                    break
                spent_s += trial.wall_s
                disturbed = watch is not None and watch.disturbed(trial)
                again = disturbed and repeats_left > 0
                out.trials.append(_placed(trial, block, disturbed=again))
                if not again:
                    out.kept_disturbed += disturbed
                    break
                repeats_left -= 1
                out.repeated += 1
        out.blocks = block + 1
        if out.blocks in when_to_look:
            share = statistics.spent(when_to_look.index(out.blocks), len(when_to_look))
            alpha = statistics.FALSE_ALARM / max(1, len(levers)) * share
            for name in [name for name, found in active.items() if found]:
                seen = answer(name, _kept(out), plan.higher_is_better, alpha, None)
                out.answers[name] = seen
                if seen.resolved:
                    active[name] = []
        if not any(active.values()):
            break
    for name, seen in out.answers.items():
        final = answer(name, _kept(out), plan.higher_is_better, seen.alpha, plan.seed)
        out.answers[name] = final
    return out


def _placed(trial: Trial, block: int, *, disturbed: bool) -> Trial:
    values = {**trial.__dict__, "block": block, "disturbed": disturbed}
    return Trial(**values)


def _kept(out: Conducted) -> list[Trial]:
    """The trials that count: undisturbed, under levels that did not fail."""
    return [t for t in out.trials if not t.disturbed and t.condition not in out.failed]
