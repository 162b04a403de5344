"""Commands compared by running them, interleaved in random order."""

import os
import random
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.experiments import statistics
from iowhy.experiments.command import shown
from iowhy.experiments.condition import BASELINE, Condition, Trial
from iowhy.experiments.executor import LiveExecutor
from iowhy.experiments.interval import Interval, TwoSamples
from iowhy.experiments.job import Job
from iowhy.experiments.lever import Level
from iowhy.experiments.result import Result
from iowhy.experiments.setting import Profile, Setting
from iowhy.experiments.trials import Conducted, Plan, Progress, Watch, conduct
from iowhy.undo import Undo, recover

VARIANT = "command"
"""Is where an experiment has its lever; no lever has this name, so none is effect."""


class CommandComparison(Struct, frozen=True):
    """One command against the first. ``slower`` comes from the blocks, ``samples`` from all runs."""

    command: str
    slower: Interval
    samples: TwoSamples
    resolved: bool
    more_runs: int | None


def compare_commands(
    job: Job,
    others: Sequence[str],
    *,
    runs: int | None,
    least: int,
    most: int,
    warmup: int,
    seed: int | None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_step: Callable[[str], None] = lambda _: None,
) -> tuple[Result, tuple[CommandComparison, ...]]:
    """Runs the commands until each one's difference from the first is resolved, or ``most`` times.

    Raises Problem when a command fails, which --ignore-failure prevents.
    """
    levels = [Level(text, text, None, takes=True) for text in others]
    plan = Plan(
        random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        least=runs or least,
        most=runs or most,
        higher_is_better=job.metric is not None and job.metric.higher_is_better,
    )
    # Each command is a lever of its own, so that one that is resolved is run no more.
    variants = {f"{VARIANT} {index}": [level] for index, level in enumerate(levels, 2)}
    conditions = {name: Condition(name, found[0]) for name, found in variants.items()}
    recover()
    with Undo.session("compare") as undo:
        setting = Setting(job.command, job.data, undo, Profile(1.0, 1.0))
        executor = LiveExecutor(
            job, setting, undo, {one: (one.level.key,) for one in conditions.values() if one.level}
        )
        on_step("--setup" if job.setup else "warming up")
        executor.once("--setup", job.setup)
        for _ in range(warmup):
            for condition in (BASELINE, *conditions.values()):
                on_step(f"warming up: {shown(executor.commands.get(condition, job.command))}")
                executor.run(condition)
        try:
            watch = Watch(cpus=0.25 * (os.cpu_count() or 1))
            done = conduct(variants, executor, plan, watch=watch, on_progress=on_progress)
        finally:
            executor.once("--cleanup", job.cleanup)
    compared = _compared(done, conditions, plan.higher_is_better)
    return _result(job, plan, done, conditions), compared


def _compared(
    done: Conducted, conditions: Mapping[str, Condition], higher_is_better: bool
) -> tuple[CommandComparison, ...]:
    kept = [trial for trial in done.trials if not trial.disturbed]
    found = []
    for name, condition in conditions.items():
        seen = done.answers.get(name)
        if seen is None or not seen.responses:
            raise Problem("no-complete-runs", name=condition.name)
        found.append(
            CommandComparison(
                command=condition.level.key if condition.level else name,
                slower=seen.responses[0].slower,
                samples=_samples(kept, condition, higher_is_better),
                resolved=seen.resolved,
                more_runs=seen.more_blocks,
            )
        )
    return tuple(found)


def _result(job: Job, plan: Plan, done: Conducted, conditions: Mapping[str, Condition]) -> Result:
    return Result(
        command=tuple(job.command),
        measure=job.metric.name if job.metric else "wall time",
        unit=job.metric.unit if job.metric else "s",
        higher_is_better=plan.higher_is_better,
        seed=plan.seed,
        sentence="",
        answers=tuple(done.answers.values()),
        conditions=(BASELINE, *conditions.values()),
        trials=tuple(done.trials),
        blocks=done.blocks,
        repeated=done.repeated,
        kept_disturbed=done.kept_disturbed,
        settings={"cache": job.cache},
    )


def _samples(kept: Sequence[Trial], condition: Condition, higher_is_better: bool) -> TwoSamples:
    sign = -1.0 if higher_is_better else 1.0
    # What is compared is slowness: of a metric whose more is better, its reciprocal.
    first = [t.measure**sign for t in kept if t.condition == BASELINE]
    second = [t.measure**sign for t in kept if t.condition == condition]
    return statistics.two_samples(first, second)
