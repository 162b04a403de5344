"""How long statements ran, by readings that come and go: those of which readings miss most runs, too.

What a recording has of kernels' rows is divided in the same way, by the relations of statements.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import quantiles

from msgspec import Struct

#: Runs that came and went from which on a statement's are known.
LEAST = 10
#: Runs of a statement that are known at a time.
MOST = 1_000


class Run(Struct):
    """One run of a statement, in wall-clock nanoseconds; `ended_ns` None: it ran when it was read last."""

    tgid: int
    tid: int
    statement: str
    began_ns: int
    leader: int | None = None
    backend: str | None = None
    ended_ns: int | None = None
    exact: bool = False
    number: int | None = None


class Reading(Struct):
    """A stretch of equal readings of one run: from the first, until the next one."""

    run: Run
    at_ns: int
    span_ns: int
    readings: int
    wait: str | None
    holder: int | None


@dataclass
class _Known:
    """Of runs that came and went: how long the last of them took, and how long their sessions had rested after them when they were read."""

    runs_ns: deque[int] = field(default_factory=lambda: deque(maxlen=MOST))
    rests_ns: deque[int] = field(default_factory=lambda: deque(maxlen=MOST))

    @property
    def share(self) -> float:
        """Of the readings that met such a run, or the rest after it, those in the run.

        A fifth of the readings meet the first fifth of a rest, whether rests are alike or not. Of LEAST runs and more.
        """
        ns = sum(self.runs_ns)
        rest_ns = len(self.rests_ns) * 5 * quantiles(self.rests_ns, n=5, method="inclusive")[0]
        return ns / (ns + rest_ns)


class ShortRuns:
    """What is known of statements' short runs."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def divided(self, readings: Iterable[Reading], each_ns: int) -> dict[tuple[str, str], float]:
        """Nanoseconds by statement and kind of wait, of readings that came each `each_ns`."""
        readings = list(readings)
        for one in readings:
            self._note(one)
        found: dict[tuple[str, str], float] = {}
        seen: dict[str, int] = {}
        met: dict[str, dict[str, int]] = {}
        for one in readings:
            statement, wait = one.run.statement, (one.wait or "none").partition(":")[0]
            if not self._is_short(one, each_ns):
                found[statement, wait] = found.get((statement, wait), 0) + one.span_ns
                continue
            seen[statement] = seen.get(statement, 0) + (1 if _came_and_went(one) else one.readings)
            if one.readings:
                waits = met.setdefault(statement, {})
                waits[wait] = waits.get(wait, 0) + one.readings
        for statement, count in seen.items():
            ns = count * each_ns * self._known[statement].share
            waits = met.get(statement) or {"none": 1}
            for wait, part in waits.items():
                key = statement, wait
                found[key] = found.get(key, 0) + ns * part / sum(waits.values())
        return found

    def _is_short(self, one: Reading, each_ns: int) -> bool:
        """Whether readings miss such runs, and enough is known of those that they missed."""
        known = self._known.get(one.run.statement)
        until_ns = one.at_ns + one.span_ns if one.run.ended_ns is None else one.run.ended_ns
        return (
            known is not None
            and len(known.runs_ns) >= LEAST
            and until_ns - one.run.began_ns < 2 * each_ns
        )

    def _note(self, one: Reading) -> None:
        run = one.run
        if not _came_and_went(one) or run.ended_ns is None or run.ended_ns <= run.began_ns:
            return
        known = self._known.setdefault(run.statement, _Known())
        known.runs_ns.append(run.ended_ns - run.began_ns)
        known.rests_ns.append(max(one.at_ns - run.ended_ns, 0))


def _came_and_went(one: Reading) -> bool:
    return one.run.ended_ns is not None and not one.readings and not one.span_ns
