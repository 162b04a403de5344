"""What became of each finding: the fix is proven when the cause's own time is gone."""

from collections.abc import Sequence

from iowhy.data_class import dataclass
from iowhy.whys.verdict import Verdict

GONE = 0.1
"""A tenth of its time left, or less: what remains is within the noise of a share."""

CHANGED = 0.25
"""A change of its time by less than a quarter is not told apart from two runs of the same thing."""


@dataclass(frozen=True)
class Fate:
    """A cause on both sides: the seconds of elapsed time that it explains, None where not found.

    `to_gain_s` is how many of the first side's its remedy could save at most, None where it is not there.
    """

    cause: str
    fate: str
    before_s: float | None
    after_s: float | None
    to_gain_s: float | None = None


def fates(before: Verdict, after: Verdict) -> tuple[Fate, ...]:
    """Each cause: gone, weaker, unchanged, stronger or new; those of BEFORE first, largest first."""
    first, second = _seconds(before), _seconds(after)
    gains = _seconds(before, gained=True)
    out = []
    for cause in [*first, *(name for name in second if name not in first)]:
        one, other = first.get(cause), second.get(cause)
        out.append(Fate(cause, _fate(one, other), one, other, gains.get(cause)))
    return tuple(out)


def _fate(before: float | None, after: float | None) -> str:
    if before is None:
        return "new"
    left = (after or 0.0) / before if before > 0 else 1.0
    if left <= GONE:
        return "gone"
    if left < 1 - CHANGED:
        return "weaker"
    return "stronger" if left > 1 + CHANGED else "unchanged"


def _seconds(verdict: Verdict, *, gained: bool = False) -> dict[str, float]:
    """Seconds by cause, or those to gain; shares where the time is not known (both sides are then of 1 s)."""
    elapsed = 1.0 if verdict.shares_of_s is None else verdict.shares_of_s
    return {
        one.cause: (one.gain if gained else one.share) * elapsed
        for one in verdict.findings
        if not one.healthy
    }


def bottleneck(verdict: Verdict) -> str:
    """The one cause that explains most, for the log of changes."""
    causes: Sequence[str] = [one.cause for one in verdict.findings]
    return causes[0] if causes else "none found"
