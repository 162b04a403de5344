"""From a command to the setting that makes it faster."""

import math
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.experiments import load
from iowhy.experiments.condition import BASELINE, Condition
from iowhy.experiments.executor import LiveExecutor
from iowhy.experiments.interval import Interval
from iowhy.experiments.job import Job
from iowhy.experiments.lever import Level
from iowhy.experiments.lever_answer import Answer, Verdict
from iowhy.experiments.listener import Listener
from iowhy.experiments.neighbours import loud
from iowhy.experiments.setting import Profile, Setting
from iowhy.experiments.time_limit import Clock, out_of_time_named
from iowhy.experiments.trials import Conducted, Plan, Watch, conduct
from iowhy.sentences import Sentence
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.tuning.knobs import knobs
from iowhy.undo import Undo, recover
from iowhy.whys import classes
from iowhy.whys.proof_time import LEAST_BLOCKS

#: A setting that could save less is not tried, nor its second value before the first of another that could save a third as much.
_LEAST_WORTH = 0.02
_NEXT_VALUE = 0.3
#: From this share of waits to read on, trials begin without the files in the cache: with them there would be nothing to save.
_COLD = 0.1
_HELPS = (Verdict.BOUND, Verdict.PARTLY)


class Request(Struct, frozen=True):
    """What is asked for: `most_tries` settings at most, all runs within `within_s`."""

    job: Job
    clues: Clues
    most_tries: int = 5
    within_s: float = 120.0
    most: int = 10
    runs: int | None = None
    seed: int | None = None
    cache: str | None = None
    files: Sequence[Path] = ()
    recorded_s: float | None = None


class Try(Struct, frozen=True):
    """A setting with a value."""

    knob: str
    value: Value
    level: Level

    @property
    def name(self) -> str:
        """As a condition of trials is named."""
        return f"{self.knob} {self.level.label}"


class Tried(Struct, frozen=True):
    """How often as long the command takes with it (`slower`), and whether it helps; None: not known."""

    name: str
    worth: float
    slower: Interval | None
    runs: int
    helps: bool | None


class Tuned(Struct, frozen=True):
    """What was found. `best` is the name of the try that helps most, None where nothing does, `kept` what makes it last.

    `no_answer` says why others were too loud.
    """

    command: tuple[str, ...]
    before_s: float
    after_s: float | None
    best: str | None
    tried: tuple[Tried, ...]
    kept: Kept | None = None
    no_answer: Sentence | None = None
    cannot: tuple[tuple[str, str], ...] = ()
    out_of_time: bool = False
    blocks: int = 0
    seed: int = 0

    @property
    def faster(self) -> Interval | None:
        """How many times as fast it is with the best."""
        found = next((one.slower for one in self.tried if one.name == self.best), None)
        if found is None:
            return None
        return Interval(1 / found.value, 1 / found.high, 1 / found.low)


def ranked(
    setting: Setting, clues: Clues, known: Mapping[str, Knob] | None = None
) -> tuple[list[Try], list[tuple[str, str]]]:
    """What could help, most promising first, and what cannot be set here."""
    found: list[tuple[float, Try]] = []
    cannot = []
    for knob in (known or knobs()).values():
        values = () if knob.unsafe and not clues.allow_unsafe else knob.values(setting, clues)
        if not values:
            continue
        why = knob.refusal(setting)
        if why is not None:
            cannot.append((knob.name, why))
            continue
        bound = 1 - clues.predicted.get(knob.bounded_by, 0.0)
        for number, value in enumerate(values):
            worth = min(value.worth, bound)
            if worth >= _LEAST_WORTH:
                held = replace(value, worth=worth)
                rank = worth * _NEXT_VALUE**number
                found.append((rank, Try(knob.name, held, knob.level(held))))
    found.sort(key=lambda one: -one[0])
    return [one for _, one in found], cannot


def tune(request: Request, listener: Listener | None = None) -> Tuned:
    """Tries settings one at a time. Raises Problem when that cannot be done; the machine is then as before."""
    listener = listener or Listener()
    clues = request.clues
    cold = clues.known and clues.share(classes.READ) >= _COLD
    state = request.cache or ("cold" if cold else "as-is")
    job = replace(request.job, cache=state, timeout_s=request.job.timeout_s or request.within_s)
    seed = random.SystemRandom().randrange(1 << 31) if request.seed is None else request.seed
    clock = Clock(request.within_s, request.runs or LEAST_BLOCKS)
    if request.recorded_s is not None:
        clock.announce(request.recorded_s, 1, lambda _: None)
    recover()
    with out_of_time_named(clock), Undo.session("tune") as undo:
        setting = Setting(
            argv=job.command, directory=job.data, runs_in=job.directory, undo=undo, profile=Profile(1.0, 1.0),
            allow_unsafe=clues.allow_unsafe, base_cache=state, files=request.files, note_progress=listener.step,
        )  # fmt: skip
        tries, cannot = ranked(setting, clues)
        known = {one.name: knobs()[one.knob] for one in tries}
        executor = LiveExecutor(job, setting, undo, known=known)
        with clock.rings():
            took_s = executor.profiled(1, listener.step)
        tries = tries[: max(1, min(request.most_tries, clock.levels(took_s)))]
        if not tries:
            return _nothing(request, setting.profile.wall_s, cannot, seed)
        again = Clock(request.within_s, clock.blocks, clock.began_s)
        again.announce(took_s, len(tries), listener.note)
        done = _conducted(executor, tries, request, clock, seed, listener)
        found = _tuned(request, tries, done, cannot, loud(done, setting.profile.cpus), seed)
        best = next((one for one in tries if one.name == found.best), None)
        if best is not None:
            found = replace(found, kept=known[best.name].keep(best.level.key, setting))
    return found


def _conducted(
    executor: LiveExecutor,
    tries: Sequence[Try],
    request: Request,
    clock: Clock,
    seed: int,
    listener: Listener,
) -> Conducted:
    least = request.runs or LEAST_BLOCKS
    plan = Plan(
        seed,
        least,
        request.runs or max(least, request.most),
        higher_is_better=executor.job.metric is not None and executor.job.metric.higher_is_better,
        until_s=clock.until_s,
    )
    watch = Watch(cpus=0.25 * (os.cpu_count() or 1), resting=load.resting)
    levels = {one.name: [one.level] for one in tries}
    try:
        with clock.rings():
            return conduct(levels, executor, plan, watch=watch, on_progress=listener.trial)
    finally:
        with suppress(Problem):
            executor.once("--cleanup", executor.job.cleanup)


def _tuned(
    request: Request,
    tries: Sequence[Try],
    done: Conducted,
    cannot: Sequence[tuple[str, str]],
    neighbours: Sentence | None,
    seed: int,
) -> Tuned:
    tried = tuple(_tried(one, done.answers.get(one.name)) for one in tries)
    helping = [one for one in tried if one.helps and one.slower is not None]
    best = min(helping, key=lambda one: _value(one.slower), default=None)
    if neighbours is not None and (best is None or not _about_others(tries, best.name)):
        best = None
    else:
        neighbours = None
    return Tuned(
        command=tuple(request.job.command),
        before_s=_middle_s(done, BASELINE),
        after_s=None
        if best is None
        else next(
            _middle_s(done, Condition(one.name, one.level))
            for one in tries
            if one.name == best.name
        ),
        best=None if best is None else best.name,
        tried=tried,
        no_answer=neighbours,
        cannot=(*cannot, *((one.name, why) for one, why in done.failed.items())),
        out_of_time=done.out_of_time,
        blocks=done.blocks,
        seed=seed,
    )


def _about_others(tries: Sequence[Try], name: str) -> bool:
    known = {one.name: knobs().get(one.knob) for one in tries}
    knob = known.get(name)
    return knob is not None and knob.about_others


def _value(found: Interval | None) -> float:
    return 1.0 if found is None else found.value


def _tried(one: Try, answer: Answer | None) -> Tried:
    if answer is None or not answer.responses:
        return Tried(one.name, one.value.worth, None, 0, None)
    helps = None if answer.verdict is Verdict.UNRESOLVED else answer.verdict in _HELPS
    return Tried(one.name, one.value.worth, answer.responses[0].slower, answer.blocks, helps)


def _middle_s(done: Conducted, condition: Condition) -> float:
    """The mean of its runs on the scale of ratios, seconds or the metric."""
    values = [
        one.measure for one in done.trials if one.condition == condition and not one.disturbed
    ]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _nothing(
    request: Request, before_s: float, cannot: Sequence[tuple[str, str]], seed: int
) -> Tuned:
    command = tuple(request.job.command)
    return Tuned(command, before_s, None, None, (), cannot=tuple(cannot), seed=seed)
