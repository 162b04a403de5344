"""What could be first in a finding's place, had it been seen: causes for which what shows them is missing or not whole.

Such a cause could have the time that it `explains`: what nobody claims, what nothing names, and what those claim that it beats. If that is
as much as can be saved of what the finding then keeps, the finding is only as sure as that cause's tables are whole.
"""

from collections.abc import Iterator

from iowhy.tables import sensors
from iowhy.whys import classes
from iowhy.whys.cause import Cause
from iowhy.whys.causes import causes
from iowhy.whys.confidence import tables_of
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate
from iowhy.whys.thresholds import LISTED

#: Without it no finding's part of the time is known.
TIME = ("thread_time",)

_Found = list[tuple[Cause, Candidate]]


def rivals_need(
    facts: Facts, found: _Found, parts: list[list[float]], left: list[float]
) -> list[tuple[str, ...]]:
    """For each of those found: the sensors that are not whole, without which one may be missed that could be first in its place."""
    unseen = list(_unseen(facts)) if found and facts.manifest.source == "live" else []
    return [
        (*TIME, *(one for cause, lacks in unseen if _first(facts, cause, at, found, parts, left) for one in lacks))
        for at in range(len(found))
    ]  # fmt: skip


def _unseen(facts: Facts) -> Iterator[tuple[Cause, tuple[str, ...]]]:
    """Causes that may be missed, each with the sensors by which it is seen that are not whole."""
    run = facts.run
    differ = {one.table for one in run.mismatches} | {one.table for one in facts.shorts}
    differ |= {name for name, lost in run.lost.items() if lost}
    # Those that did not run, or of which a table is not whole.
    lacking = {
        name
        for name in sensors()
        if not facts.recording.ran(name) or not differ.isdisjoint(tables_of((name,)))
    }
    for cause in causes() if lacking else ():
        clues = {one.sensor for one in cause.clues}
        of_it = [one for one in cause.unseen_without if one in lacking - clues]
        of_it += [one.sensor for one in cause.clues if one.sensor in lacking and one.could_be(facts)]  # fmt: skip
        if of_it:
            yield cause, tuple(of_it)


def _first(
    facts: Facts, rival: Cause, at: int, found: _Found, parts: list[list[float]], left: list[float]
) -> bool:
    """Whether a cause that may have been missed could be before the one found at that place."""
    cause, candidate = found[at]
    if rival is cause:
        return False
    if candidate.fixed_share is not None or candidate.comes_first:
        return cause.name in rival.beats
    its = rival.explains | {classes.UNEXPLAINED}

    def of_its(part: list[float]) -> float:
        return sum(each for piece, each in zip(facts.budget.pieces, part, strict=True) if piece.cls in its)  # fmt: skip

    gives_way = [one.name in rival.beats or one is rival for one, _ in found]
    gets = of_its(left) + sum(
        of_its(part) for part, way in zip(parts, gives_way, strict=True) if way
    )
    keeps = sum(parts[at]) - (of_its(parts[at]) if gives_way[at] else 0.0)
    # The largest gain is first.
    return gets >= max(LISTED, keeps * min(1.0, candidate.saving.part))
