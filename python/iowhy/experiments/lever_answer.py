"""What one lever's trials say: the response, the sensitivity, and whether the command is bound by it."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from iowhy.experiments import statistics
from iowhy.experiments.condition import Condition, Trial
from iowhy.experiments.distributions import Floats
from iowhy.experiments.interval import Interval
from iowhy.experiments.statistics import Fit

MATERIAL = float(np.log(1.05))
"""An effect that is certainly below 5 % at the deepest level would not be worth acting on."""

BOUND_SENSITIVITY = 0.5
"""From here on most of the time follows the resource: halving it costs at least 41 %."""

BOUND_SAVED = 0.3
"""The share of the time that a relieving lever must save for the command to be bound by it."""

_LEVER_BITES = 0.02
"""A lever that took less than 2 % of the resource away has shown nothing."""


class Verdict(StrEnum):
    """What is said of a lever."""

    BOUND = "bound by"
    PARTLY = "partly bound by"
    NOT_BOUND = "not bound by"
    OTHER_WAY = "answers the other way to"
    UNRESOLVED = "not resolved"


class Response(Struct, frozen=True):
    """How much slower (above 1) or faster (below 1) the command is at one level, with its interval."""

    label: str
    key: str
    factor: float | None
    slower: Interval
    blocks: int
    phrase: str = ""


class Answer(Struct, frozen=True):
    """The answer of one lever.

    ``sensitivity`` is d ln(time) / d ln(resource), positive when less of the resource takes longer; None
    for a lever without an amount. ``share`` is then the share of the time that it saves (of the longer
    of the two times, where it takes). Intervals are of 95 %; the verdict is reached at ``alpha``, which accounts for several levers and several looks.
    ``more_blocks`` is how many more blocks would resolve it, at the noise seen.
    """

    lever: str
    verdict: Verdict
    responses: tuple[Response, ...]
    sensitivity: Interval | None
    share: Interval | None
    p: float | None
    alpha: float
    blocks: int
    more_blocks: int | None
    why_unresolved: str | None = None

    @property
    def resolved(self) -> bool:
        """Whether more trials would not change the answer."""
        return self.verdict is not Verdict.UNRESOLVED

    @property
    def strength(self) -> float:
        """For ordering: the share of the time that follows this lever, about 0 to 1."""
        if self.sensitivity is not None:
            return self.sensitivity.value
        return 0.0 if self.share is None else self.share.value


def answer(
    lever: str,
    trials: Sequence[Trial],
    higher_is_better: bool,
    alpha: float,
    seed: int | None,
) -> Answer:
    """Judges a lever from all trials of an experiment (those of other levers are passed over).

    ``alpha`` is the chance of a false alarm that this look may use. Without a ``seed`` the intervals
    are Student's, which is quicker and good enough for a look on the way.
    """
    conditions, logs, when, factors = _matrix(lever, trials, higher_is_better)
    count = len(logs)
    if count < 3:
        return _nothing(lever, alpha, count, f"only {count} complete blocks", 3 - count)
    width = len(conditions)
    responses: list[Response] = []
    singles: list[Fit] = []
    for index in range(1, width):
        weights = np.zeros(width)
        weights[index], weights[0] = 1.0, -1.0
        one = statistics.fit(logs, when, weights)
        if one is None:
            continue
        level = conditions[index].level
        assert level is not None
        shown = _interval(one, seed)
        ratio = Interval(*(float(np.exp(v)) for v in (shown.value, shown.low, shown.high)))
        responses.append(
            Response(level.label, level.key, factors[index], ratio, count, level.phrase)
        )
        singles.append(one)
    known = [f for f in factors[1:] if f is not None]
    if len(known) == width - 1:
        x = np.array([-np.log(f) for f in known])  # positive: this much of the resource is gone
        if float(np.abs(x).max()) < _LEVER_BITES:
            why = "the lever took hardly anything away"
            return _nothing(lever, alpha, count, why, None, tuple(responses))
        weights = np.concatenate(([0.0], x / float(x @ x)))
        weights[0] = -weights.sum()
        slope = statistics.fit(logs, when, weights)
        assert slope is not None
        return _judged(lever, slope, float(x.max()), True, responses, alpha, count, seed)
    # Without amounts each level is its own question, and they share the chance of a false alarm.
    judged = []
    for condition, single in zip(conditions[1:], singles, strict=True):
        assert condition.level is not None
        effect = single if condition.level.takes else single.negated()
        share = alpha / len(singles)
        judged.append(_judged(lever, effect, 1.0, False, responses, share, count, seed))
    strongest = max(judged, key=lambda one: (one.resolved, abs(one.strength)))
    return replace(strongest, alpha=alpha)


def _judged(
    lever: str,
    found: Fit,
    depth: float,
    amount: bool,
    responses: list[Response],
    alpha: float,
    count: int,
    seed: int | None,
) -> Answer:
    """``depth`` turns the estimate into the effect at the deepest level (log scale)."""
    low, high = found.interval(1 - alpha)
    effect = found.estimate * depth
    share = float(1 - np.exp(-effect))
    strong = found.estimate >= BOUND_SENSITIVITY if amount else share >= BOUND_SAVED
    verdict = Verdict.UNRESOLVED
    if low * depth > -MATERIAL and high * depth < MATERIAL:
        verdict = Verdict.NOT_BOUND
    elif low > 0 and effect >= MATERIAL:
        verdict = Verdict.BOUND if strong else Verdict.PARTLY
    elif high < 0 and effect <= -MATERIAL:
        verdict = Verdict.OTHER_WAY
    elif high * depth < MATERIAL:
        verdict = Verdict.NOT_BOUND
    shown = _interval(found, seed)
    more = None
    why = None
    if verdict is Verdict.UNRESOLVED:
        wanted = max(abs(found.estimate), MATERIAL / depth - abs(found.estimate)) * 0.9
        more = max(1, statistics.blocks_needed(found, count, wanted, alpha) - count)
        why = "the trials vary too much for so few of them"
    return Answer(
        lever=lever,
        verdict=verdict,
        responses=tuple(responses),
        sensitivity=shown if amount else None,
        share=None
        if amount
        else Interval(*(float(1 - np.exp(-v)) for v in (shown.value, shown.low, shown.high))),
        p=found.p(),
        alpha=alpha,
        blocks=count,
        more_blocks=more,
        why_unresolved=why,
    )


_LEAST_TO_DRAW_FROM = 5
"""Three or four blocks are too few to draw from: Student's interval is then the narrower and the right one."""


def _interval(found: Fit, seed: int | None) -> Interval:
    if seed is None or len(found.design) < _LEAST_TO_DRAW_FROM:
        return Interval(found.estimate, *found.interval(0.95))
    return statistics.bootstrap(found, seed)


def _nothing(
    lever: str,
    alpha: float,
    count: int,
    why: str,
    more: int | None,
    responses: tuple[Response, ...] = (),
) -> Answer:
    return Answer(lever, Verdict.UNRESOLVED, responses, None, None, None, alpha, count, more, why)


def _matrix(
    lever: str, trials: Sequence[Trial], higher_is_better: bool
) -> tuple[list[Condition], Floats, Floats, list[float | None]]:
    """Blocks with all of a lever's conditions: log slowness, times and the mean factor reached."""
    rows: dict[int, dict[Condition, Trial]] = {}
    conditions: list[Condition] = []
    for trial in trials:
        if trial.condition.lever not in (None, lever):
            continue
        if trial.condition not in conditions:
            conditions.append(trial.condition)
        rows.setdefault(trial.block, {})[trial.condition] = trial
    conditions.sort(key=lambda one: (one.lever is not None, -(_factor(one) or 0)))
    full = [row for _, row in sorted(rows.items()) if len(row) == len(conditions)]
    if len(conditions) < 2 or not full:
        return conditions, np.empty((0, 0)), np.empty((0, 0)), []
    sign = -1.0 if higher_is_better else 1.0
    logs = np.array([[sign * np.log(row[one].measure) for one in conditions] for row in full])
    when = np.array([[row[one].middle_s for one in conditions] for row in full])
    factors: list[float | None] = []
    for one in conditions:
        reached = [row[one].factor for row in full]
        known = [value for value in reached if value is not None]
        factors.append(float(np.mean(known)) if len(known) == len(full) else _factor(one))
    return conditions, logs, when, factors


def _factor(condition: Condition) -> float | None:
    return None if condition.level is None else condition.level.factor
