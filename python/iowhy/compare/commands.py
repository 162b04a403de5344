"""Commands compared by running them, interleaved in random order."""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from iowhy.errors import Problem
from iowhy.experiment import statistics
from iowhy.experiment.lever import Level
from iowhy.experiment.live import Job, LiveExecutor
from iowhy.experiment.process import shown
from iowhy.experiment.result import Result
from iowhy.experiment.setting import Profile, Setting
from iowhy.experiment.statistics import Interval, TwoSamples
from iowhy.experiment.trials import BASELINE, Condition, Plan, Progress, Trial, Watch, conduct
from iowhy.undo import Undo, recover

VARIANT = "command"
"""Stands where an experiment has its lever; no lever has this name, so none is pulled."""


@dataclass(frozen=True)
class CommandComparison:
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
    tell: Callable[[Progress], None] = lambda _: None,
    step: Callable[[str], None] = lambda _: None,
) -> tuple[Result, tuple[CommandComparison, ...]]:
    """Runs the commands until each one's difference from the first is resolved, or ``most`` times.

    Raises Problem when a command fails, which --ignore-failure prevents.
    """
    levels = [Level(text, text, None, takes=True) for text in others]
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    plan = Plan(
        seed,
        least=runs or least,
        most=runs or most,
        higher_is_better=job.metric is not None and job.metric.higher_is_better,
    )
    recover()
    with Undo.session("compare") as undo:
        setting = Setting(job.command, job.directory, undo, Profile(1.0, 1.0))
        # Each command is a lever of its own, so that one that is resolved is run no more.
        variants = {f"{VARIANT} {index}": [level] for index, level in enumerate(levels, 2)}
        conditions = {name: Condition(name, found[0]) for name, found in variants.items()}
        executor = LiveExecutor(
            job, setting, undo, {one: (one.level.key,) for one in conditions.values() if one.level}
        )
        step("--setup" if job.setup else "warming up")
        executor.once("--setup", job.setup)
        for _ in range(warmup):
            for condition in (BASELINE, *conditions.values()):
                step(f"warming up: {shown(executor.commands.get(condition, job.command))}")
                executor.run(condition)
        try:
            watch = Watch(cpus=0.25 * (os.cpu_count() or 1))
            done = conduct(variants, executor, plan, watch=watch, tell=tell)
        finally:
            executor.once("--cleanup", job.cleanup)
    kept = [trial for trial in done.trials if not trial.disturbed]
    out = []
    for name, condition in conditions.items():
        found = done.answers.get(name)
        if found is None or not found.responses:
            raise Problem(f"{condition.name}: no complete runs to compare")
        out.append(
            CommandComparison(
                command=condition.level.key if condition.level else name,
                slower=found.responses[0].slower,
                samples=_samples(kept, condition, plan.higher_is_better),
                resolved=found.resolved,
                more_runs=found.more_blocks,
            )
        )
    result = Result(
        command=tuple(job.command),
        measure=job.metric.name if job.metric else "wall time",
        unit=job.metric.unit if job.metric else "s",
        higher_is_better=plan.higher_is_better,
        seed=seed,
        sentence="",
        answers=tuple(done.answers.values()),
        conditions=(BASELINE, *conditions.values()),
        trials=tuple(done.trials),
        blocks=done.blocks,
        repeated=done.repeated,
        kept_disturbed=done.kept_disturbed,
        settings={"cache": job.cache},
    )
    return result, tuple(out)


def _samples(kept: Sequence[Trial], condition: Condition, higher_is_better: bool) -> TwoSamples:
    sign = -1.0 if higher_is_better else 1.0
    # What is compared is slowness: of a metric whose more is better, its reciprocal.
    first = np.array([t.measure**sign for t in kept if t.condition == BASELINE])
    second = np.array([t.measure**sign for t in kept if t.condition == condition])
    return statistics.two_samples(first, second)
