"""What became of each finding: the fix is proven when the cause's own time is gone."""

from collections.abc import Sequence

from msgspec import Struct

from iowhy.recordings.manifest import Manifest
from iowhy.whys.causes import cause_named
from iowhy.whys.verdict import Verdict

GONE = 0.1
"""A tenth of its time left, or less: what remains is within the noise of a share."""

CHANGED = 0.25
"""A change of its time by less than a quarter is not distinguished from two runs of the same thing."""


class Fate(Struct, frozen=True):
    """A cause on both sides: the seconds of elapsed time that it explains, None where not found.

    `could_save_s` is how many of the first side's its remedy could save at most, None if it is not there. `why`
    says why it is not known whether it is on the side on which it was not found; None if it is not there.
    """

    cause: str
    fate: str
    before_s: float | None
    after_s: float | None
    could_save_s: float | None = None
    why: str | None = None


Judged = tuple[Verdict, Manifest]
"""A side's verdict, and the manifest of the recording that was judged."""


def fates(before: Judged, after: Judged) -> tuple[Fate, ...]:
    """Each cause: gone, weaker, unchanged, stronger, new or not known; those of BEFORE first, largest first."""
    first, second = _seconds(before[0]), _seconds(after[0])
    gains = _seconds(before[0], gained=True)
    out = []
    for cause in [*first, *(name for name in second if name not in first)]:
        one, other = first.get(cause), second.get(cause)
        why = None
        if one is None:
            why = _why_unseen(cause, *before)
        elif other is None and not _bounded(one, after[0]):
            why = _why_unseen(cause, *after)
        fate = "not known" if why is not None else _fate(one, other)
        out.append(Fate(cause, fate, one, other, gains.get(cause), why))
    return tuple(out)


def _bounded(before_s: float, after: Verdict) -> bool:
    """Whether all of the second side's time is so little that the cause is gone, whatever was not seen there."""
    return after.shares_of_s is not None and after.shares_of_s <= GONE * before_s


def _why_unseen(name: str, verdict: Verdict, manifest: Manifest) -> str | None:
    """Why a cause that was not found on a side may be there; None if it is not."""
    if verdict.too_short:
        return "that run is too short to judge"
    cause = cause_named(name)
    return None if cause is None else cause.why_unseen(manifest)


def _fate(before: float | None, after: float | None) -> str:
    """`after` is None where the cause is not there."""
    if before is None:
        return "new"
    left = (0.0 if after is None else after) / before if before > 0 else 1.0
    if left <= GONE:
        return "gone"
    if left < 1 - CHANGED:
        return "weaker"
    return "stronger" if left > 1 + CHANGED else "unchanged"


def _seconds(verdict: Verdict, *, gained: bool = False) -> dict[str, float]:
    """Seconds by cause, or those that could be saved; shares where the time is not known (both sides are then of 1 s)."""
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
