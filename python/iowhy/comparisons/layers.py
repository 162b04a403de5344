"""What changed at each layer between two recordings, ordered by what it explains of the difference."""

import math
from collections.abc import Sequence

from msgspec import Struct

from iowhy.measures import Measure, measures, values
from iowhy.relations import Relations
from iowhy.whys.verdict import Verdict


class Part(Struct, frozen=True):
    """A class of the time budget in both recordings, in seconds of elapsed time.

    The differences of all parts add up to the difference of the elapsed times; ``explains`` is this
    one's share of it (above 1 when others went the other way), None when the times do not differ.
    """

    name: str
    before_s: float
    after_s: float
    explains: float | None

    @property
    def difference_s(self) -> float:
        """After minus before."""
        return self.after_s - self.before_s


class Changed(Struct, frozen=True):
    """A measure on both sides; None is unknown."""

    measure: Measure
    before: float | None
    after: float | None
    weight: float

    @property
    def ratio(self) -> float | None:
        """After over before; None when one is unknown or 0."""
        if not self.before or not self.after:
            return None
        return self.after / self.before


#: Of the time, a difference that is none: what a program takes to start and to end differs by as much.
_NO_DIFFERENCE = 0.02


def parts(before: Verdict, after: Verdict) -> tuple[Part, ...]:
    """The budget's classes, largest part of the difference first; () when a budget is not known."""
    if not before.budget.known or not after.budget.known:
        return ()
    if before.elapsed_s is None or after.elapsed_s is None:
        return ()
    total = after.elapsed_s - before.elapsed_s
    longest = max(after.elapsed_s, before.elapsed_s)
    found = []
    for line in before.budget.lines:
        other = after.budget.line(line.cls)
        if line.elapsed_ns is None or other.elapsed_ns is None:
            return ()
        first, second = line.elapsed_ns / 1e9, other.elapsed_ns / 1e9
        if first == 0 and second == 0:
            continue
        # Where the whole takes as long as before, there is no difference to explain.
        explains = (second - first) / total if abs(total) > _NO_DIFFERENCE * longest else None
        found.append(Part(line.cls, first, second, explains))
    return tuple(sorted(found, key=lambda part: -abs(part.difference_s)))


def changed(
    before: Relations, after: Relations, found: Sequence[Part], least: float = 0.1
) -> tuple[Changed, ...]:
    """Measures that differ by more than ``least``, first those of the parts that differ most."""
    weights = {part.name: abs(part.difference_s) for part in found}
    first, second = _measured(before), _measured(after)
    out = []
    for measure in measures().values():
        one, other = first[measure.name], second[measure.name]
        if one is None or other is None or one == other:
            continue
        far = abs(other - one) / max(abs(one), abs(other))
        if far < least:
            continue
        weight = max((weights.get(name, 0.0) for name in measure.classes), default=0.0)
        out.append(Changed(measure, one, other, weight * _distance(one, other)))
    return tuple(sorted(out, key=_order))


def _order(one: Changed) -> tuple[float, int, bool]:
    """The heaviest first; of equals what is about least else, and the call before what is below it."""
    return -one.weight, len(one.measure.classes), "." in one.measure.name


def _distance(one: float, other: float) -> float:
    """How far apart two numbers are, between 0 and 1: a factor of 10 is near 1."""
    if one <= 0 or other <= 0:
        return 1.0
    return 1 - math.exp(-abs(math.log(other / one)))


def _measured(relations: Relations) -> dict[str, float | None]:
    with relations.recording.damage_named():
        return values(relations, measures().values())
