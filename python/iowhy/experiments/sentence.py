"""The answer in one sentence."""

import math
from collections.abc import Mapping, Sequence

from iowhy.experiments.interval import Interval
from iowhy.experiments.lever import Level, Lever
from iowhy.experiments.lever_answer import Answer, Response, Verdict
from iowhy.whys.chain import capital


def sentence(answers: Sequence[Answer], levers: Mapping[str, Lever]) -> str:
    """What binds the command, with each lever's effect at its deepest level."""
    if not answers:
        return "Nothing was tried."
    ordered = sorted(answers, key=lambda one: -one.strength)
    words = "; ".join(text for one in ordered if (text := effect(one, levers[one.lever])))
    return f"{headline(ordered, levers)}: {words}" if words else headline(ordered, levers)


def headline(ordered: Sequence[Answer], levers: Mapping[str, Lever]) -> str:
    """CPU-bound, partly sync-bound, bound by none of … , or what is not resolved."""
    bound = _names([a for a in ordered if a.verdict is Verdict.BOUND], levers)
    # Beside what binds it, only what comes near is worth a word here; the effects follow anyway.
    worth = max((a.strength for a in ordered if a.verdict is Verdict.BOUND), default=0.0) / 2
    lesser = [a for a in ordered if a.verdict is Verdict.PARTLY and a.strength >= worth]
    partly = [name for name in _names(lesser, levers) if name not in bound]
    if bound and not partly:
        return capital(f"{' and '.join(bound)}-bound")
    if bound:
        return capital(f"{' and '.join(bound)}-bound, partly {' and '.join(partly)}-bound")
    if partly:
        return f"Partly {' and '.join(partly)}-bound"
    tried = [levers[a.lever].resource for a in ordered if a.verdict is Verdict.NOT_BOUND]
    if len(tried) == len(ordered):
        return f"Bound by none of what was tried ({', '.join(dict.fromkeys(tried))})"
    odd = [levers[a.lever].resource for a in ordered if a.verdict is Verdict.OTHER_WAY]
    if odd:
        named = " and ".join(dict.fromkeys(odd))
        return f"Not {named}-bound: it got slower with more of it"
    open_ = [levers[a.lever].resource for a in ordered if a.verdict is Verdict.UNRESOLVED]
    return f"Not known yet: the runs differ too much to see an effect of {', '.join(dict.fromkeys(open_))}"


def _names(answers: Sequence[Answer], levers: Mapping[str, Lever]) -> list[str]:
    return list(dict.fromkeys(levers[one.lever].bound for one in answers))


def deepest(one: Answer) -> Response | None:
    """The response at the level that was pulled farthest."""
    if not one.responses:
        return None
    return min(
        one.responses,
        key=lambda r: (1.0 if r.factor is None else r.factor, -abs(math.log(r.slower.value))),
    )


def effect(one: Answer, lever: Lever) -> str:
    """``halving CPU makes it 1.93 times slower (1.88 to 1.99)``."""
    found = deepest(one)
    if found is None:
        return f"{lever.name} gave no answer ({one.why_unresolved})" if one.why_unresolved else ""
    level = Level(found.label, found.key, found.factor, found.phrase)
    said = f"{level.said(lever.resource, found.factor)} makes it {times(found.slower)}"
    return f"{said}, which may be chance" if one.verdict is Verdict.UNRESOLVED else said


def times(slower: Interval) -> str:
    """A ratio as a person says it: 1.93 times slower (1.88 to 1.99), 2.1 times faster, or 1.00 times as long."""
    ratio = f"{slower.value:.2f}"
    if ratio == "1.00":
        return f"{ratio} times as long{_between(slower.low, slower.high)}"
    if slower.value > 1:
        return f"{ratio} times slower{_between(slower.low, slower.high)}"
    return f"{1 / slower.value:.2f} times faster{_between(1 / slower.high, 1 / slower.low)}"


def _between(low: float, high: float) -> str:
    """The interval; nothing if there is none."""
    return "" if math.isnan(low) else f" ({plain(low)} to {plain(high)})"


def plain(ratio: float) -> str:
    """A ratio with two decimals, two digits if it is small; beyond a thousand nothing is known."""
    if not 0.001 <= ratio < 1000:
        return "any"
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.{1 - math.floor(math.log10(ratio))}f}"


def with_interval(slower: Interval) -> str:
    """``1.93 (1.88 to 1.99)``; without an interval the ratio alone."""
    if not slower.known:
        return plain(slower.value)
    return f"{plain(slower.value)} ({plain(slower.low)} to {plain(slower.high)})"
