"""Phases of two recordings side by side: those of one kind in the same order belong together, and are held against what was done in them."""

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.phases import PhaseDone

#: From this many times longer a phase is called slower.
SLOWER = 1.1
#: Of what a phase takes longer, how much the whole does at least, where it is not known what was done in the phase.
SHOWS = 0.5
#: How much phases are alike of which it is not known what was done in them, and what of that each one costs that is put to another.
UNKNOWN = 0.5
EACH_MORE = 0.97
#: Calls in a phase, from which they are what was done in it.
SOME = 50


class Done(Struct, frozen=True):
    """What was done in a phase: calls and operations on files, and the bytes that they moved."""

    calls: int
    bytes: int

    def more_than(self, other: "Done") -> float:
        """How many times as much: fewer calls may move as many bytes, and as many calls more."""
        moved = self.bytes / other.bytes if other.bytes else 0.0
        return max(self.calls / other.calls, moved)


class Stage(Struct, frozen=True):
    """A phase on both sides: what it mostly did, how long it took, and what was done in it; None where a side has none like it, or that is not
    known. `slower_s`: how much longer it takes for what it did; 0 where it takes longer as it did more."""

    cls: str
    before: int | None
    after: int | None
    before_s: float | None
    after_s: float | None
    before_done: Done | None = None
    after_done: Done | None = None
    slower_s: float = 0.0
    #: The last of several phases that are one on the other side.
    before_last: int | None = None
    after_last: int | None = None

    @property
    def difference_s(self) -> float:
        """After minus before."""
        return (self.after_s or 0.0) - (self.before_s or 0.0)

    @property
    def each(self) -> tuple[str, float, float] | None:
        """What a call, or a MiB, took on both sides (ns), where more or less was done; None if as much, or not known."""
        before, after = self.before_done, self.after_done
        if before is None or after is None or not self.before_s or not self.after_s:
            return None
        more = after.more_than(before)
        if 1 / SLOWER <= more <= SLOWER:
            return None
        by_calls = more == after.calls / before.calls
        each = before.calls if by_calls else before.bytes / (1 << 20)
        return ("call" if by_calls else "MiB", self.before_s * 1e9 / each, self.after_s * 1e9 / (each * more))  # fmt: skip


def slowest(found: Sequence[Stage]) -> Stage | None:
    """The phase that became slowest for what it does; None if none did."""
    worst = max(found, key=lambda one: one.slower_s, default=None)
    return worst if worst is not None and worst.slower_s > 0 else None


def done_in(phases: Sequence[PhaseDone], asked: Relations) -> dict[int, Done]:
    """What was done in each phase, where that was enough to judge by."""
    if len(phases) < 2 or not asked.has("syscalls"):
        return {}
    rows = asked.by(Done, _DONE)
    return {int(str(number)): one for (number,), one in rows.items() if one.calls >= SOME}


_DONE = """
SELECT p.phase, count(*) AS calls, CAST(coalesce(sum(o.ret) FILTER (k.kind IN ('read', 'write', 'copy') AND o.ret > 0), 0) AS BIGINT) AS bytes
FROM file_operations o
JOIN phases p ON o.ts_ns >= p.begin_ns AND o.ts_ns < p.end_ns
JOIN call_kinds k ON k.name = o.name
WHERE k.kind IN ('read', 'write', 'copy', 'sync', 'lookup', 'change')
GROUP BY p.phase
"""

Side = tuple[Sequence[PhaseDone], Mapping[int, Done]]


class _Group(Struct, frozen=True):
    """Phases of one side that follow each other and do the same: what the other side does in one."""

    cls: str
    first: int
    last: int
    long_s: float
    done: Done | None


def stages(before: Side, after: Side) -> tuple[Stage, ...]:
    """In their order; nothing if a side is even, no thread of it was timed, or no phase of one is like one of the other."""
    (ours, _), (theirs, _) = before, after
    if any(one.cls is None for one in (*ours, *theirs)):
        return ()
    pairs = _aligned(before, after)
    if not any(one is not None and other is not None for one, other in pairs):
        return ()
    whole_s = _whole(theirs) - _whole(ours)
    return tuple(_stage(one, other, whole_s) for one, other in pairs)


_Pair = tuple[_Group | None, _Group | None]


def _aligned(before: Side, after: Side) -> list[_Pair]:
    """Which phases belong together, in order: as much as possible of the time of both sides, by what was done in it.

    What is even on one side may be several phases on the other, as the device became slow in it.
    """
    ours, theirs = before[0], after[0]
    best: dict[tuple[int, int], tuple[float, list[_Pair]]] = {(len(ours), len(theirs)): (0.0, [])}

    def of(i: int, j: int) -> tuple[float, list[_Pair]]:
        if (i, j) in best:
            return best[i, j]
        tried: list[tuple[float, list[_Pair]]] = []
        if i < len(ours):
            score, rest = of(i + 1, j)
            tried.append((score, [(_group(before, i, i + 1), None), *rest]))
        if j < len(theirs):
            score, rest = of(i, j + 1)
            tried.append((score, [(None, _group(after, j, j + 1)), *rest]))
        for one, other in _pairs(before, after, i, j):
            score, rest = of(one.last, other.last)
            share = one.long_s / _whole(ours) + other.long_s / _whole(theirs)
            tried.append((_alike(one, other) * share + score, [(one, other), *rest]))
        best[i, j] = max(tried, key=lambda each: each[0])
        return best[i, j]

    return of(0, 0)[1]


def _pairs(before: Side, after: Side, i: int, j: int) -> Iterator[tuple[_Group, _Group]]:
    """Of groups that begin there; if it is unknown what was done, of one phase each."""
    for z in range(i + 1, len(before[0]) + 1):
        for y in range(j + 1, len(after[0]) + 1):
            one, other = _group(before, i, z), _group(after, j, y)
            single = z - i == 1 and y - j == 1
            known = one.done is not None and other.done is not None
            if min(z - i, y - j) == 1 and one.cls == other.cls != "" and (single or known):
                yield one, other


def _group(side: Side, begin: int, end: int) -> _Group:
    """`cls` is empty if they do different things."""
    own = side[0][begin:end]
    done = [side[1][one.number] for one in own if one.number in side[1]]
    sums = Done(sum(one.calls for one in done), sum(one.bytes for one in done)) if done else None
    same = {one.cls for one in own}
    return _Group(own[0].cls or "" if len(same) == 1 else "", begin, end, _whole(own), sums)


def _alike(one: _Group, other: _Group) -> float:
    """1 if as much was done in them; 0.5 if that is not known, or it is a third in calls and bytes. Each phase more costs a little."""
    more = (one.last - one.first) + (other.last - other.first) - 2
    if one.done is None or other.done is None:
        return UNKNOWN
    by_calls = abs(math.log(other.done.calls / one.done.calls))
    by_bytes = abs(math.log((other.done.bytes + 1) / (one.done.bytes + 1)))
    return EACH_MORE**more / (1 + (by_calls + by_bytes) / 2)


def _stage(one: _Group | None, other: _Group | None, whole_s: float) -> Stage:
    if one is None or other is None:
        alone = one or other
        assert alone is not None
        number, long_s = alone.first + 1, alone.long_s
        if other is None:
            return Stage(alone.cls, number, None, long_s, None, alone.done, None, 0.0, number)
        return Stage(alone.cls, None, number, None, long_s, None, alone.done, 0.0, None, number)
    known = one.done, other.done
    return Stage(
        one.cls,
        one.first + 1,
        other.first + 1,
        one.long_s,
        other.long_s,
        *known,
        _slower_s(one.long_s, other.long_s, known, whole_s),
        one.last,
        other.last,
    )


def _slower_s(
    before_s: float, after_s: float, done: tuple[Done | None, Done | None], whole_s: float
) -> float:
    """How much longer it takes for what it did.

    Work that ends at a given time has phases that are longer because another one begins later: if nobody counted what was done, all
    must take longer, too. What does less and makes all shorter is not slower.
    """
    if before_s <= 0 or after_s <= 0:
        return 0.0
    longer = after_s / before_s
    if done[0] is None or done[1] is None:
        difference = after_s - before_s
        return difference if longer >= SLOWER and whole_s >= SHOWS * difference else 0.0
    more = done[1].more_than(done[0])
    shorter_s = max(0.0, before_s - after_s)
    if longer < SLOWER * more or whole_s < -SHOWS * shorter_s:
        return 0.0
    return after_s * (1 - more / longer)


def _whole(phases: Sequence[PhaseDone]) -> float:
    return sum(map(_long, phases))


def _long(one: PhaseDone) -> float:
    return one.end_s - one.begin_s
