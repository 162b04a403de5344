"""How much a measure may grow from one recording to the next: `sync_calls > +0`, `device.written_bytes > +10 %`."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from iowhy import units
from iowhy.errors import Problem
from iowhy.expect.expectation import number
from iowhy.measures import Measure, find, values
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.sentences import changed

#: What people call the elapsed time. Counts are the same in each run; times are not, and one run against one tells nothing.
_TIMES = frozenset(("time", "seconds", "elapsed", "elapsed_s", "elapsed_ns", "duration", "runtime"))
#: Recordings of a side from which a change of time can be told from chance.
LEAST_RUNS = 3
_FORM = re.compile(r"\s*([A-Za-z][\w.-]*)\s*>\s*\+\s*(\S.*?)\s*\Z")


class Growth(Struct, frozen=True):
    """A measure that grows by more than `by` is a failure; `relative`: `by` is a part of what it was before.

    Of a share (a percentage itself) `by` are points.
    """

    text: str
    measure: Measure
    by: float
    relative: bool

    @property
    def of_time(self) -> bool:
        """Whether it holds a time, which is another one in each run."""
        return self.measure.unit == "ns"

    def most(self, before: float) -> float:
        """What it may be afterwards."""
        return before * (1 + self.by) if self.relative else before + self.by


class Grown(Struct, frozen=True):
    """`held` is None where a side is not known."""

    growth: Growth
    held: bool | None
    before: float | None
    after: float | None

    @property
    def sentence(self) -> str:
        """Both numbers in a line."""
        unit = self.growth.measure.unit
        numbers = f"{units.amount(self.before, unit)} → {units.amount(self.after, unit)}"
        verb = (
            "failed on" if self.held is False else "cannot decide" if self.held is None else "not"
        )
        return f"{verb} {self.growth.text}: {self.growth.measure.title}: {numbers}"


def read_growth(option: str, text: str) -> Growth:
    """What `text` says. Raises Problem that names the option and shows the way out."""
    found = _FORM.match(text)
    if found is None:
        raise Problem("not-a-fail-on", option=option, text=text)
    where = f"{option} '{text}'"
    if found[1].lower() in _TIMES:
        raise Problem("times-need-fail-on-regression", where=where)
    try:
        measure = find(found[1])
    except Problem as problem:
        raise Problem(changed(problem.sentence, f"{where}: {problem}")) from None
    relative = found[2].endswith("%") and measure.unit != "share"
    return Growth(
        text, measure, number(where, found[2], "share" if relative else measure.unit), relative
    )


def grown(before: Recording, after: Recording, growths: Sequence[Growth]) -> list[Grown]:
    """What became of each that holds no time. Raises Problem for a recording that cannot be read."""
    first, second = (_measured(one, growths) for one in (before, after))
    found = []
    for growth in growths:
        one, other = first[growth.measure.name], second[growth.measure.name]
        held = None if one is None or other is None else other <= growth.most(one)
        found.append(Grown(growth, held, one, other))
    return found


def times_grown(
    before: Sequence[Recording],
    after: Sequence[Recording],
    growths: Sequence[Growth],
    longer: Callable[[Sequence[float], Sequence[float]], bool],
) -> list[Grown]:
    """What became of each that holds a time, by the medians of the sides; what chance explains is held.

    `longer`: whether chance does not explain that the second sample is longer.

    Raises Problem for fewer than three recordings of a side, and for one that cannot be read.
    """
    from statistics import median  # slow to import

    if growths and min(len(before), len(after)) < LEAST_RUNS:
        raise Problem("fail-on-time-differs-from", text=growths[0].text)
    sides = [[_measured(one, growths) for one in side] for side in (before, after)]
    found = []
    for growth in growths:
        times = [[one[growth.measure.name] for one in side] for side in sides]
        known = [[value for value in side if value is not None and value > 0] for side in times]
        if list(map(len, known)) != list(map(len, times)):
            found.append(Grown(growth, None, None, None))
            continue
        one, other = map(median, known)
        held = other <= growth.most(one) or not longer(*known)
        found.append(Grown(growth, held, one, other))
    return found


def _measured(recording: Recording, growths: Sequence[Growth]) -> dict[str, float | None]:
    chosen = {growth.measure.name: growth.measure for growth in growths}
    with recording.damage_named(), Relations(recording) as relations:
        return values(relations, chosen.values())
