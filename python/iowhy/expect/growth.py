"""How much a measure may grow from one recording to the next: `sync_calls > +0`, `device.written_bytes > +10 %`."""

import re

from iowhy import units
from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.expect.expectation import number
from iowhy.measures import Measure, find, values
from iowhy.recording import Recording
from iowhy.relations import Relations

#: What people call the elapsed time. Counts are the same in each run; times are not, and one run against one tells nothing.
_TIMES = frozenset(("time", "seconds", "elapsed", "elapsed_s", "elapsed_ns", "duration", "runtime"))
_FORM = re.compile(r"\s*([A-Za-z][\w.-]*)\s*>\s*\+\s*(\S.*?)\s*\Z")


@dataclass(frozen=True)
class Growth:
    """A measure that grows by more than `by` is a failure; `relative`: `by` is a part of what it was before.

    Of a share (a percentage itself) `by` are points.
    """

    text: str
    measure: Measure
    by: float
    relative: bool

    def most(self, before: float) -> float:
        """What it may be afterwards."""
        return before * (1 + self.by) if self.relative else before + self.by


@dataclass(frozen=True)
class Grown:
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
        verb = "failed on" if self.held is False else "cannot tell" if self.held is None else "not"
        return f"{verb} {self.growth.text}: {self.growth.measure.title}: {numbers}"


def read_growth(option: str, text: str) -> Growth:
    """What `text` says. Raises Problem that names the option and shows the way out."""
    found = _FORM.match(text)
    if found is None:
        raise Problem(
            f"{option} '{text}': give NAME > +NUMBER, as in 'sync_calls > +0' or "
            "'device.written_bytes > +10 %'; `iowhy run --expect list` shows the names"
        )
    where = f"{option} '{text}'"
    if found[1].lower() in _TIMES:
        raise Problem(
            f"{where}: a time is held by --fail-on-regression 5%, with three recordings a side or more"
        )
    try:
        measure = find(found[1])
    except Problem as problem:
        raise Problem(f"{where}: {problem}") from None
    relative = found[2].endswith("%") and measure.unit != "share"
    return Growth(
        text, measure, number(where, found[2], "share" if relative else measure.unit), relative
    )


def grown(before: Recording, after: Recording, growths: list[Growth]) -> list[Grown]:
    """What became of each. Raises Problem for a recording that cannot be read."""
    first, second = (_measured(one, growths) for one in (before, after))
    found = []
    for growth in growths:
        one, other = first[growth.measure.name], second[growth.measure.name]
        held = None if one is None or other is None else other <= growth.most(one)
        found.append(Grown(growth, held, one, other))
    return found


def _measured(recording: Recording, growths: list[Growth]) -> dict[str, float | None]:
    chosen = {growth.measure.name: growth.measure for growth in growths}
    with recording.damage_named(), Relations.of(recording, keep=True) as relations:
        return values(relations, chosen.values())
