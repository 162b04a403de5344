"""An experiment from its request to its result."""

import os
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.experiments import confirm, load
from iowhy.experiments.condition import BASELINE, Condition
from iowhy.experiments.executor import LiveExecutor
from iowhy.experiments.job import Job
from iowhy.experiments.lever import CannotAct, Level, Lever
from iowhy.experiments.levers import levers, named
from iowhy.experiments.listener import Listener
from iowhy.experiments.neighbours import loud
from iowhy.experiments.predicted import Predicted, compared
from iowhy.experiments.result import Result
from iowhy.experiments.sentence import sentence
from iowhy.experiments.setting import Profile, Setting
from iowhy.experiments.time_limit import Clock, out_of_time_named
from iowhy.experiments.trials import Conducted, Plan, Watch, conduct
from iowhy.sentences import Sentence
from iowhy.undo import Undo, recover
from iowhy.whys.proof_time import LEAST_BLOCKS

if TYPE_CHECKING:
    from iowhy.whys.finding import Finding

USUAL = ("cpu-quota", "io-contention")
"""Taken when neither levers nor a recording are named: the two squeezes of case 3."""

_NEEDS_COLD = ("memory-limit", "memory-unlimited", "cache-warm")


class Request(Struct, frozen=True):
    """What is asked for. ``levers`` as on the command line; ``cache`` None: as the levers need it.

    ``files`` are those that the command is known to use. ``recorded_s`` is how long it took when it was recorded.
    ``same_command`` is that ``findings`` are of this command: only then are they confirmed or refuted.
    ``runs`` fixes the number of blocks; else they run from ``least`` to ``most`` until resolved, and in all no longer than ``within_s``.
    ``predicted`` is what the recording predicts, which the levers' answers are compared with.
    """

    job: Job
    levers: Sequence[str] = ()
    runs: int | None = None
    least: int = 5
    most: int = 15
    warmup: int = 0
    seed: int | None = None
    cache: str | None = None
    allow_unsafe: bool = False
    findings: Sequence["Finding"] = ()
    files: Sequence[Path] = ()
    recording: str | None = None
    same_command: bool = True
    recorded_s: float | None = None
    within_s: float | None = None
    predicted: Sequence[Predicted] = ()


def experiment(request: Request, listener: Listener | None = None) -> Result:
    """Runs an experiment. Raises Problem when it cannot be done; the machine is then as before."""
    listener = listener or Listener()
    asked = _asked(request)
    clock = Clock(request.within_s, request.runs or LEAST_BLOCKS)
    if request.recorded_s is not None:
        clock.announce(request.recorded_s, len(asked), listener.note)
    state = request.cache or _cache_for([lever for lever, _ in asked])
    job = replace(request.job, cache=state, timeout_s=request.job.timeout_s or request.within_s)
    seed = random.SystemRandom().randrange(1 << 31) if request.seed is None else request.seed
    recover()
    with out_of_time_named(clock), Undo.session("experiment") as undo:
        setting = Setting(
            argv=job.command,
            directory=job.data,
            runs_in=job.directory,
            undo=undo,
            profile=Profile(1.0, 1.0),
            allow_unsafe=request.allow_unsafe,
            base_cache=state,
            files=request.files,
            note_progress=listener.step,
        )
        executor = LiveExecutor(job, setting, undo)
        with clock.rings():
            took_s = executor.profiled(request.warmup, listener.step)
            selected, left_out = _select(asked, setting, explicit=bool(request.levers))
        clock.announce(took_s, sum(map(len, selected.values())), listener.note)
        plan = Plan(
            seed,
            least=request.runs or request.least,
            most=request.runs or max(request.least, request.most),
            higher_is_better=job.metric is not None and job.metric.higher_is_better,
            until_s=clock.until_s,
        )
        watch = Watch(cpus=0.25 * (os.cpu_count() or 1), resting=load.resting)
        try:
            with clock.rings():
                done = conduct(selected, executor, plan, watch=watch, on_progress=listener.trial)
        except Problem:
            with suppress(Problem):
                executor.once("--cleanup", job.cleanup)
            raise
        listener.step("--cleanup" if job.cleanup else "putting everything back")
        executor.once("--cleanup", job.cleanup)
    if done.out_of_time:
        setting.note(f"ended by the clock: --within {clock.longer} allows more runs")
    neighbours = loud(done, setting.profile.cpus)
    return _result(request, job, plan, done, selected, left_out, setting.notes, neighbours)


def _result(
    request: Request,
    job: Job,
    plan: Plan,
    done: Conducted,
    selected: Mapping[str, Sequence[Level]],
    left_out: Sequence[tuple[str, str]],
    notes: Sequence[str],
    neighbours: Sentence | None,
) -> Result:
    answers = tuple(done.answers.values())
    judged = confirm.judge(
        request.findings,
        answers,
        same_command=request.same_command,
        times=_times(request, done),
    )
    return Result(
        command=tuple(job.command),
        measure=job.metric.name if job.metric else "wall time",
        unit=job.metric.unit if job.metric else "s",
        higher_is_better=plan.higher_is_better,
        seed=plan.seed,
        sentence=sentence(answers, levers()) if neighbours is None else str(neighbours),
        answers=answers,
        conditions=(
            BASELINE,
            *(Condition(name, level) for name, found in selected.items() for level in found),
        ),
        trials=tuple(done.trials),
        blocks=done.blocks,
        repeated=done.repeated,
        kept_disturbed=done.kept_disturbed,
        left_out=tuple(left_out),
        failed=tuple((condition.name, why) for condition, why in done.failed.items()),
        notes=tuple(notes),
        findings=judged if neighbours is None else confirm.unheard(judged),
        compared=compared(request.predicted, answers) if neighbours is None else (),
        recording=request.recording,
        settings={
            "cache": job.cache,
            "directory": str(job.directory),
            "data_directory": str(job.data),
            "least": plan.least,
            "most": plan.most,
            "warmup": request.warmup,
            "prepare": list(job.prepare),
        },
    )


def _times(request: Request, done: Conducted) -> confirm.Times | None:
    baseline = [
        one.wall_s for one in done.trials if one.condition == BASELINE and not one.disturbed
    ]
    if request.recorded_s is None or not baseline:
        return None
    return confirm.Times(request.recorded_s, median(baseline))


def _asked(request: Request) -> list[tuple[Lever, tuple[str, ...]]]:
    if request.levers:
        asked = [named(text) for text in request.levers]
        twice = {
            lever.name for lever, _ in asked if [a.name for a, _ in asked].count(lever.name) > 1
        }
        if twice:
            raise Problem("lever-given-twice", twice=sorted(twice)[0])
        return asked
    names = confirm.asked_for(request.findings) or list(USUAL)
    return [(levers()[name], ()) for name in names]


def _cache_for(asked: Sequence[Lever]) -> str:
    """Some levers show nothing unless every trial starts with the command's files uncached."""
    return "cold" if any(lever.name in _NEEDS_COLD for lever in asked) else "as-is"


def _select(
    asked: Sequence[tuple[Lever, tuple[str, ...]]], setting: Setting, *, explicit: bool
) -> tuple[dict[str, list[Level]], list[tuple[str, str]]]:
    """The levers that can act with their levels, and why the others cannot."""
    selected: dict[str, list[Level]] = {}
    left_out: list[tuple[str, str]] = []
    pending = list(asked)
    while pending:
        lever, levels = pending.pop(0)
        try:
            why = lever.refusal(setting)
        except Problem as problem:
            why = str(problem)
        if why is None:
            try:
                selected[lever.name] = list(lever.levels(setting, levels))
                continue
            except Problem as problem:
                # Levels that the user named are theirs to mend; a lever that a finding named may
                # need some that only the user knows.
                if explicit and not isinstance(problem, CannotAct):
                    raise
                why = str(problem)
        left_out.append((lever.name, why))
        if not explicit:
            # What the findings ask for may be shown by another lever that can act.
            seen = {name for name, _ in left_out} | set(selected) | {one.name for one, _ in pending}
            others = [name for name in confirm.STAND_INS.get(lever.name, ()) if name not in seen]
            pending += [(levers()[name], ()) for name in others[:1] if not levers()[name].explicit]
    if not selected:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out)
        raise Problem("no-lever-can-act", reasons=reasons)
    return selected, left_out
