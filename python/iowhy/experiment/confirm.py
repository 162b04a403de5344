"""Findings of a recording, confirmed or refuted by an experiment."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iowhy.experiment.lever import levers
from iowhy.experiment.lever_answer import Answer, Verdict
from iowhy.experiment.result import Judged

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


def judge(findings: Sequence["Finding"], answers: Sequence[Answer]) -> tuple[Judged, ...]:
    """Each finding with what the experiment made of it."""
    by_lever = {one.lever: one for one in answers}
    out = []
    for finding in findings:
        wanted = asked_for([finding])
        wanted += [other for name in wanted for other in STAND_INS.get(name, ())]
        used = next((by_lever[name] for name in wanted if name in by_lever), None)
        out.append(_judged(finding, used))
    return tuple(out)


def _judged(finding: "Finding", used: Answer | None) -> Judged:
    before = finding.confidence
    outcome, after = "not tested", before
    because = "no lever that could prove it was tried"
    if used is not None:
        because = f"{used.lever}: {used.verdict}"
        if used.verdict in (Verdict.BOUND, Verdict.PARTLY):
            outcome, after = "confirmed", 1 - (1 - before) * _DOUBT_LEFT
        elif used.verdict in (Verdict.NOT_BOUND, Verdict.OTHER_WAY):
            outcome, after = "refuted", before * _BELIEF_LEFT
        else:
            outcome = "not resolved"
    return Judged(finding.cause, finding.title, outcome, before, round(after, 3), because)
