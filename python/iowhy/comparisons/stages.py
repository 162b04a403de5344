"""Phases of two recordings side by side: those of one kind in the same order belong together."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from iowhy.whys.phases import PhaseDone


class Stage(Struct, frozen=True):
    """A phase on both sides: what it mostly did, and how long it took; None where a side has none like it."""

    cls: str
    before: int | None
    after: int | None
    before_s: float | None
    after_s: float | None

    @property
    def difference_s(self) -> float:
        """After minus before."""
        return (self.after_s or 0.0) - (self.before_s or 0.0)

    @property
    def grew(self) -> float:
        """How many times longer it took; 1 where one side has none."""
        return self.after_s / self.before_s if self.before_s and self.after_s else 1.0


#: From this many times longer a phase is called slower.
SLOWER = 1.1


def slowest(found: Sequence[Stage]) -> Stage | None:
    """The phase that takes most longer; None if none does."""
    slower = [one for one in found if one.grew >= SLOWER]
    return max(slower, key=lambda one: one.difference_s, default=None)


def stages(before: Sequence[PhaseDone], after: Sequence[PhaseDone]) -> tuple[Stage, ...]:
    """In their order; nothing if a side is even, no thread of it was timed, or no phase of one is like one of the other."""
    first, second = ([one.cls for one in side if one.cls is not None] for side in (before, after))
    if len(first) < len(before) or len(second) < len(after):
        return ()
    found: list[Stage] = []
    matched = SequenceMatcher(a=first, b=second, autojunk=False).get_opcodes()
    if not any(kind == "equal" for kind, *_ in matched):
        return ()
    for kind, a, z, b, y in matched:
        pairs = zip(before[a:z], after[b:y], strict=True) if kind == "equal" else ()
        found += [
            Stage(one.cls or "", one.number, other.number, _long(one), _long(other))
            for one, other in pairs
        ]
        if kind != "equal":
            found += [
                Stage(one.cls or "", one.number, None, _long(one), None) for one in before[a:z]
            ]
            found += [
                Stage(one.cls or "", None, one.number, None, _long(one)) for one in after[b:y]
            ]
    return tuple(found)


def _long(one: PhaseDone) -> float:
    return one.end_s - one.begin_s
