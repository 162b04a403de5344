"""Findings of a recording, confirmed or refuted by an experiment."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from iowhy.experiments.lever_answer import Answer, Verdict
from iowhy.experiments.levers import levers
from iowhy.experiments.result import Judged
from iowhy.experiments.sentence import effect
from iowhy.units import duration, percent

if TYPE_CHECKING:
    from iowhy.whys.finding import Finding

# What may stand in for a lever that a finding names but that could not act here.
STAND_INS: Mapping[str, tuple[str, ...]] = {
    "cpu-quota": ("cpu-pin", "cpu-frequency"),
    "cpu-pin": ("cpu-quota", "cpu-frequency"),
    "cpu-frequency": ("cpu-quota", "cpu-pin"),
    "io-contention": ("io-throttle", "fast-device"),
    "io-throttle": ("io-contention", "fast-device"),
    "fast-device": ("io-throttle", "io-contention"),
    "cache-warm": ("cache-cold",),
    "cache-cold": ("cache-warm",),
}

_DOUBT_LEFT = 0.3
"""Part of the doubt that a confirming experiment leaves: it shows the resource, not yet the reason."""

_MUST_BE_THERE = 0.5
"""Part of a finding's share of the time that the trials must have too, for them to say that it is not so."""

_BELIEF_LEFT = 0.2
"""Part of the confidence that a refuting experiment leaves."""


def asked_for(findings: Sequence["Finding"]) -> list[str]:
    """Levers that the findings name, cheapest first; text that names none is passed over."""
    names: list[str] = []
    for finding in findings:
        for name in levers():
            if finding.experiment is not None and name in finding.experiment.split():
                names.append(name)
    return sorted(dict.fromkeys(names), key=lambda name: levers()[name].cost)


class Times(Struct, frozen=True):
    """Seconds that the command took when it was recorded, and takes in the trials without a lever."""

    recorded_s: float
    baseline_s: float

    def show(self, finding: "Finding") -> bool:
        """Whether what the finding is about can be there in the trials: they take about as long as it took."""
        return self.baseline_s >= self.recorded_s * (1 - finding.share * _MUST_BE_THERE)


def judge(
    findings: Sequence["Finding"],
    answers: Sequence[Answer],
    *,
    same_command: bool = True,
    times: Times | None = None,
) -> tuple[Judged, ...]:
    """Each finding with what the experiment made of it: nothing, where it ran another command than was recorded.

    Nothing is refuted by trials that are so much faster than the recording that what was found there is not in them.
    """
    if not same_command:
        return tuple(
            Judged(
                one.cause, one.title, "not tested", one.confidence, one.confidence, _ANOTHER_COMMAND
            )
            for one in findings
        )
    by_lever = {one.lever: one for one in answers}
    out = []
    for finding in findings:
        wanted = asked_for([finding])
        wanted += [other for name in wanted for other in STAND_INS.get(name, ())]
        used = next((by_lever[name] for name in wanted if name in by_lever), None)
        judged = _judged(finding, used)
        if judged.outcome == "refuted" and times is not None and not times.show(finding):
            because = (
                f"the trials without a lever take {duration(times.baseline_s * 1e9)}, the recording took "
                f"{duration(times.recorded_s * 1e9)}: what it found is not in them"
            )
            judged = replace(
                judged, outcome="not tested", because=because, confidence_after=finding.confidence
            )
        out.append(judged)
    return tuple(out)


def unheard(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """The same, if others were too loud for the trials to say anything."""
    return tuple(
        one
        if one.outcome == "not tested"
        else replace(
            one, outcome="not resolved", because=_LOUD, confidence_after=one.confidence_before
        )
        for one in judged
    )


_LOUD = "others were too loud"
_ANOTHER_COMMAND = (
    "this is another command than the recording's: what it answers to says nothing of that one"
)


def _judged(finding: "Finding", used: Answer | None) -> Judged:
    before = finding.confidence
    outcome, after = "not tested", before
    because = "no lever that could prove it was tried"
    if used is not None:
        because = _because(finding, used)
        if used.verdict in (Verdict.BOUND, Verdict.PARTLY):
            outcome, after = "confirmed", 1 - (1 - before) * _DOUBT_LEFT
        elif used.verdict is Verdict.OTHER_WAY and not levers()[used.lever].relieves:
            # Less of a resource makes nothing faster: something else changed with it.
            outcome = "not resolved"
            because = f"{because}: less of it alone cannot do that, so something else changed too"
        elif used.verdict in (Verdict.NOT_BOUND, Verdict.OTHER_WAY):
            outcome, after = "refuted", before * _BELIEF_LEFT
        else:
            outcome = "not resolved"
    return Judged(finding.cause, finding.title, outcome, before, round(after, 3), because)


def _because(finding: "Finding", used: Answer) -> str:
    """What the lever did, and where it took the cause away, what that saves of what was to be gained."""
    said = effect(used, levers()[used.lever])
    if not said:
        return f"{used.lever}: {used.verdict}"
    relieves = used.share is not None and all(one.slower.value < 1 for one in used.responses)
    if not relieves or used.share is None:
        return said
    return (
        f"{said}: it saves {percent(used.share.value)}, and at most {percent(finding.gain)} was to be "
        "gained"
    )
