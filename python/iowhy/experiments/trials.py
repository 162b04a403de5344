"""The order of trials, and when there are enough of them.

Trials come in blocks with one trial of each condition. The order within a block is random, and every
second block mirrors the one before, so that a steady drift weighs on all conditions alike. A trial
that the rest of the machine disturbed is run again, and counted.
"""

import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.experiments import statistics
from iowhy.experiments.condition import BASELINE, Condition, Executor, LevelFailed, Trial
from iowhy.experiments.lever import Level
from iowhy.experiments.lever_answer import Answer, answer
from iowhy.experiments.load import Others
from iowhy.experiments.time_limit import OutOfTime


class Plan(Struct, frozen=True):
    """How many blocks of trials: ``least`` to ``most``; equal numbers leave out early stopping.

    No block begins that would not end before ``until_s`` (time.monotonic).
    """

    seed: int
    least: int = 5
    most: int = 20
    higher_is_better: bool = False
    until_s: float | None = None


_LEAST_CPU_S = 0.05
_LEAST_BYTES = 4e6


class Watch(Struct):
    """Recognises a disturbed trial: one with clearly more load of others than the quietest of its kind.

    ``cpus`` more CPUs in use, or ``disk_bytes_per_s`` more disk traffic (and twice as much).
    ``resting`` is what the machine does before each block, while no trial runs.
    """

    cpus: float
    disk_bytes_per_s: float = 20e6
    resting: Callable[[], Others] | None = None
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


class Progress(Struct, frozen=True):
    """Where an experiment is, before each trial: how many are done, how many may come, seconds a trial takes so far."""

    condition: Condition
    block: int
    done: int
    at_most: int
    mean_s: float | None


class Conducted(Struct):
    """All trials, the answers by lever, and what went wrong on the way; ``resting`` is the load of others between blocks."""

    trials: list[Trial]
    answers: dict[str, Answer]
    blocks: int
    repeated: int = 0
    kept_disturbed: int = 0
    out_of_time: bool = False
    resting: list[Others] = field(default_factory=list)
    failed: dict[Condition, str] = field(default_factory=dict)


def conduct(
    levers: Mapping[str, Sequence[Level]],
    executor: Executor,
    plan: Plan,
    *,
    watch: Watch | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Conducted:
    """Runs trials until every lever is resolved, ``plan.most`` blocks are done, or the time is over."""
    course = _Course(executor, plan, watch, on_progress, levers)
    when_to_look = statistics.looks(plan.least, plan.most)
    order = random.Random(plan.seed)
    sequence: list[Condition] = []
    for block in range(plan.most):
        conditions = course.conditions()
        if block and course.fit() < len(conditions):
            course.done.out_of_time = True
            break
        if block % 2 == 0:
            sequence = order.sample(conditions, len(conditions))
        else:
            sequence = [one for one in reversed(sequence) if one in conditions]
        try:
            course.run_block(block, sequence)
        except OutOfTime:
            course.done.out_of_time = True
            break
        if course.done.blocks in when_to_look:
            look = when_to_look.index(course.done.blocks)
            course.look(statistics.spent(look, len(when_to_look)))
        if not any(course.active.values()):
            break
    if course.done.out_of_time:
        course.look_last(when_to_look)
    return course.end()


class _Course:
    """The state of an experiment under way: what is done, and the levers that are not resolved yet."""

    def __init__(
        self,
        executor: Executor,
        plan: Plan,
        watch: Watch | None,
        on_progress: Callable[[Progress], None],
        levers: Mapping[str, Sequence[Level]],
    ) -> None:
        self.executor, self.plan, self.watch, self.on_progress = executor, plan, watch, on_progress
        self.done = Conducted([], {}, 0)
        self.levers = len(levers)
        self.active = {name: list(found) for name, found in levers.items()}
        self.repeats_left = 2 + sum(map(len, levers.values())) * plan.most // 4
        self.spent_s = 0.0
        self.began_s = time.monotonic()

    def conditions(self) -> list[Condition]:
        """The baseline, and each level of the levers that are not resolved."""
        return [BASELINE] + [
            Condition(name, level) for name, found in self.active.items() for level in found
        ]

    def run_block(self, block: int, sequence: Sequence[Condition]) -> None:
        """One trial of each condition; a disturbed one again, while repeats are left."""
        if self.watch is not None and self.watch.resting is not None:
            self.done.resting.append(self.watch.resting())
        for place, condition in enumerate(sequence):
            while condition not in self.done.failed:
                left = (self.plan.most - block) * len(sequence) - place
                if self._kept(condition, block, left, len(sequence) - place):
                    break
        self.done.blocks = block + 1

    def _kept(self, condition: Condition, block: int, left: int, in_block: int) -> bool:
        """Runs one trial; False when it is to be run again."""
        count = len(self.done.trials)
        mean_s = self.spent_s / count if count else None
        at_most = count + max(in_block, min(left, self.fit()))
        self.on_progress(Progress(condition, block, count, at_most, mean_s))
        try:
            trial = self.executor.run(condition)
        except LevelFailed as failure:
            self.done.failed[condition] = str(failure)
            if condition.lever is not None and condition.level is not None:
                self.active[condition.lever].remove(condition.level)
            return True
        self.spent_s += trial.wall_s
        disturbed = self.watch is not None and self.watch.disturbed(trial)
        again = disturbed and self.repeats_left > 0 and self.fit() > in_block
        self.done.trials.append(replace(trial, block=block, disturbed=again))
        if again:
            self.repeats_left -= 1
            self.done.repeated += 1
        else:
            self.done.kept_disturbed += disturbed
        return not again

    def fit(self) -> int:
        """How many more trials are over in time, each with its reset as long as those before."""
        if self.plan.until_s is None or not self.done.trials:
            return sys.maxsize
        now = time.monotonic()
        each_s = (now - self.began_s) / len(self.done.trials)
        return max(0, int((self.plan.until_s - now) / each_s))

    def look_last(self, when_to_look: Sequence[int]) -> None:
        """What those looks that do not come would have used is left for it."""
        looks = len(when_to_look)
        left = [at for at, blocks in enumerate(when_to_look) if blocks > self.done.blocks]
        self.look(sum(statistics.spent(at, looks) for at in left))

    def look(self, share: float) -> None:
        """Judges the levers that are not resolved, with this share of the chance of a false alarm; those that are now need no more trials."""
        alpha = statistics.FALSE_ALARM / max(1, self.levers) * share
        for name in [name for name, found in self.active.items() if found]:
            seen = answer(name, _counted(self.done), self.plan.higher_is_better, alpha, None)
            self.done.answers[name] = seen
            if seen.resolved:
                self.active[name] = []

    def end(self) -> Conducted:
        """The last answers, with intervals drawn from the trials."""
        for name, seen in self.done.answers.items():
            self.done.answers[name] = answer(
                name, _counted(self.done), self.plan.higher_is_better, seen.alpha, self.plan.seed
            )
        return self.done


def _counted(done: Conducted) -> list[Trial]:
    """The trials that count: undisturbed, under levels that did not fail."""
    return [t for t in done.trials if not t.disturbed and t.condition not in done.failed]
