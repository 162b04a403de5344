"""What each change would make of a recorded run: a time, how sure, and why."""

import math
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from iowhy.model.changes import Change, changes
from iowhy.model.device_kind import Device, presets
from iowhy.model.elapsed import Elapsed, Waits, elapsed
from iowhy.model.recorded import Recorded, recorded
from iowhy.model.replay import Plan, Rule, plan, replay
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.sentences import Sentence, worded

#: A run that the model does not repeat within this share of its time carries no prediction.
REPEATS = 0.1
#: Of any prediction: what one run more of the same differs by.
_AGAIN = 0.1
#: More times less is hardly any waiting; from _ROUND times on a fraction says nothing.
_MOST_TIMES, _ROUND = 50, 10
#: Changes by less than this are none.
SAME = 0.03


class Prediction(Struct, frozen=True):
    """Seconds after the change, and within which two they are; `because` says what becomes of the waits."""

    id: str
    change: Sentence
    before_s: float
    after_s: float
    low_s: float
    high_s: float
    because: Sentence
    assumes: Sentence


class WhatIf(Struct, frozen=True):
    """`before_s` is the run without what the recorder took. `cannot` says why there are no predictions."""

    who: str
    before_s: float | None
    predictions: tuple[Prediction, ...] = ()
    cannot: Sentence | None = None
    part: float = 1.0


def what_if(recording: Recording, devices: Sequence[Device] = ()) -> WhatIf:
    """Predictions for the usual changes, and for these devices instead of the usual ones."""
    with recording.damage_named(), Relations(recording) as relations:
        return predictions_of(recording, relations, devices)


def predictions_of(
    recording: Recording, relations: Relations, devices: Sequence[Device] = ()
) -> WhatIf:
    """The same over relations that are open."""
    cannot = _cannot(recording, relations)
    if cannot is not None:
        return WhatIf(_who(recording), None, cannot=cannot)
    return predicted(_who(recording), recorded(relations), relations, devices or presets())


def predicted(who: str, run: Recorded, relations: Relations, devices: Sequence[Device]) -> WhatIf:
    """Predictions of a run that the model repeats."""
    made, waits = plan(run), Waits(run)
    as_was = replay(made, run, Rule())
    same = elapsed(run, waits.ratios(as_was.waits_ns))
    if abs(same.ns - run.elapsed_ns) > REPEATS * run.elapsed_ns:
        said = "executed again as it was, the model takes {model:ns} instead of {was:ns}: it does not see what this run waits for"
        cannot = worded("what-if-not-repeated", said, model=same.ns, was=run.elapsed_ns)
        return WhatIf(who, run.elapsed_ns / 1e9, cannot=cannot)
    found = tuple(
        _prediction(run, made, waits, same, as_was.end_ns, one)
        for one in changes(run, relations, devices)
    )
    return WhatIf(who, same.ns / 1e9, found, part=run.part)


def helpful(found: WhatIf, most: int = 5) -> tuple[Prediction, ...]:
    """The changes that save something, the most helpful first."""
    ranked = sorted(found.predictions, key=lambda one: one.after_s)
    return tuple(one for one in ranked if one.after_s <= (1 - _AGAIN) * one.before_s)[:most]


def _prediction(
    run: Recorded, made: Plan, waits: Waits, same: Elapsed, ended_ns: float, change: Change
) -> Prediction:
    replayed = replay(made, run, change.rule())
    now = elapsed(
        run,
        waits.ratios(replayed.waits_ns),
        cpu=change.cpu,
        runnable=change.runnable,
        more_cpus=change.more_cpus,
        most_ns=same.ns + max(0.0, replayed.end_ns - ended_ns) if run.part >= 1 else math.inf,
    )
    low = now.ns - change.unsure[0] * now.waiting_ns - _AGAIN * now.ns
    high = now.ns + change.unsure[1] * now.waiting_ns + _AGAIN * now.ns
    return Prediction(
        change.id,
        change.name,
        same.ns / 1e9,
        now.ns / 1e9,
        max(low, 0.0) / 1e9,
        high / 1e9,
        _because(run, same, now, change),
        change.assumes,
    )


def _because(run: Recorded, same: Elapsed, now: Elapsed, change: Change) -> Sentence:
    """What becomes of what it is about: the waits, or time on a CPU or for one."""
    if change.because is not None:
        return change.because
    if change.id == "cpu-twice":
        share = sum(one.cpu_worth_ns for one in run.slices) / same.ns
        return worded("because-computes", "{share:share} computes", share=share)
    if change.id == "cpus-twice":
        share = sum(one.runnable_worth_ns for one in run.slices) / same.ns
        return worded("because-for-cpu", "{share:share} waits for a CPU", share=share)
    was, is_ = same.waiting_ns, now.waiting_ns
    if max(was, is_) < SAME * same.ns:
        share = was / same.ns
        return worded("because-no-waits", "only {share:share} waits", share=share)
    if abs(is_ - was) < SAME * same.ns:
        return worded("because-same", "waits as long as now")
    if is_ * _MOST_TIMES < was:
        return worded("because-hardly", "hardly any wait left")
    less = is_ < was
    times = was / is_ if less else is_ / max(was, 1.0)
    return worded(
        "because-waits",
        "waits {times} times " + ("less" if less else "more"),
        times=round(times) if times >= _ROUND else round(times, 1),
    )


def _who(recording: Recording) -> str:
    """What was recorded."""
    command = recording.manifest.command
    if command.argv:
        return Path(command.argv[0]).name
    return "the machine" if command.mode == "machine" else "what was recorded"


def _cannot(recording: Recording, relations: Relations) -> Sentence | None:
    """Why the recording does not carry predictions; None where it does."""
    manifest, facts = recording.manifest, relations.facts
    if (
        manifest.source != "live"
        or not facts.timed
        or not facts.ran.issuperset(("block_requests", "waits"))
    ):
        said = "it has no single requests and waits: only a recording by eBPF does (`sudo iowhy run -- CMD`)"
        return worded("what-if-no-rows", said)
    if manifest.command.mode == "machine":
        said = "it is of the whole machine: `iowhy what-if` is about one command"
        return worded("what-if-machine", said)
    lost = sum(
        kept.lost
        for name, kept in manifest.tables.items()
        if name in ("block_requests", "waits", "syscalls")
    )
    if lost:
        return worded(
            "what-if-lost",
            "{lost:count events} were lost: what waits for what is not known",
            lost=lost,
        )
    if not manifest.complete:
        return worded("what-if-not-whole", "it is not whole: the recorder did not end it")
    return None
