"""Phases of two recordings side by side: those of one kind in the same order belong together, and are held against what was done in them."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.phases import PhaseDone

#: From this many times longer a phase is called slower.
SLOWER = 1.1
#: Of what a phase takes longer, how much the whole does at least, where it is not known what was done in the phase.
SHOWS = 0.5
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


def stages(before: Side, after: Side) -> tuple[Stage, ...]:
    """In their order; nothing if a side is even, no thread of it was timed, or no phase of one is like one of the other."""
    (ours, _), (theirs, _) = before, after
    first, second = ([one.cls for one in side if one.cls is not None] for side in (ours, theirs))
    if len(first) < len(ours) or len(second) < len(theirs):
        return ()
    found: list[Stage] = []
    matched = SequenceMatcher(a=first, b=second, autojunk=False).get_opcodes()
    if not any(kind == "equal" for kind, *_ in matched):
        return ()
    whole_s = _whole(theirs) - _whole(ours)
    for kind, a, z, b, y in matched:
        pairs = zip(ours[a:z], theirs[b:y], strict=True) if kind == "equal" else ()
        found += [_both(one, other, before[1], after[1], whole_s) for one, other in pairs]
        if kind != "equal":
            found += [
                Stage(one.cls or "", one.number, None, _long(one), None, before[1].get(one.number))
                for one in ours[a:z]
            ]
            found += [
                Stage(one.cls or "", None, one.number, None, _long(one), None, after[1].get(one.number))
                for one in theirs[b:y]
            ]  # fmt: skip
    return tuple(found)


def _both(
    one: PhaseDone,
    other: PhaseDone,
    before: Mapping[int, Done],
    after: Mapping[int, Done],
    whole_s: float,
) -> Stage:
    known = before.get(one.number), after.get(other.number)
    slower = _slower_s(_long(one), _long(other), known, whole_s)
    return Stage(one.cls or "", one.number, other.number, _long(one), _long(other), *known, slower)


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
