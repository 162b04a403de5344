"""What is expected of a recording: a measure, or the share of a cause, against a bound."""

import operator
import re
from collections.abc import Callable

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.measures import Measure, find
from iowhy.quantities import (
    DURATION_EXAMPLES,
    SIZE_EXAMPLES,
    duration_ns,
    percentage,
    size_bytes,
)
from iowhy.sentences import changed
from iowhy.whys.causes import causes

_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
_FORM = re.compile(r"\s*(cause\s+)?([A-Za-z][\w.-]*)\s*(<=|>=|==|<|>)\s*(\S.*?)\s*\Z")
_COUNT = re.compile(r"[0-9]{1,3}(,[0-9]{3})+\Z|[0-9]{1,18}\Z")
_PERCENT = re.compile(r"[0-9.]+\s*%\Z")


class Expectation(Struct, frozen=True):
    """One expectation. `measure` is None if it is of a `cause`, whose share of the time is meant."""

    text: str
    comparison: str
    bound: float
    measure: Measure | None
    cause: str | None = None

    @property
    def unit(self) -> str:
        """Of its number and its bound."""
        return "share" if self.measure is None else self.measure.unit

    def may_change(self, value: float) -> bool:
        """Whether the answer could be another one where the value is in truth larger."""
        if self.comparison == "==":
            return value <= self.bound
        return self.holds(value) == (self.comparison in ("<", "<="))

    def holds(self, value: float) -> bool:
        """Whether a value keeps to it."""
        return _HOLDS[self.comparison](value, self.bound)


def read_expectation(option: str, text: str) -> Expectation:
    """The expectation that `text` says. Raises Problem that names the option and shows the way out."""
    found = _FORM.match(text)
    if found is None:
        raise Problem("not-an-expectation", option=option, text=text)
    of_cause, name, comparison, bound = found.groups()
    where = f"{option} '{text}'"
    if of_cause:
        known = [cause.name for cause in causes()]
        if name not in known:
            raise Problem("cause-unknown", where=where, name=name, known=", ".join(known))
        return Expectation(text, comparison, number(where, bound, "share"), None, name)
    try:
        measure = find(name)
    except Problem as problem:
        raise Problem(changed(problem.sentence, f"{where}: {problem}")) from None
    return Expectation(text, comparison, number(where, bound, measure.unit), measure)


def number(where: str, text: str, unit: str) -> float:
    """A bound by the unit of its measure. Raises Problem that begins with `where` and shows the way out."""
    if unit == "count":
        if not _COUNT.match(text):
            raise Problem("not-a-count", where=where)
        return float(text.replace(",", ""))
    if unit == "share":
        if not _PERCENT.match(text):
            raise Problem("not-a-percentage-of-a-share", where=where)
        return percentage(where, text)
    value, examples = (
        (duration_ns(text), DURATION_EXAMPLES)
        if unit == "ns"
        else (size_bytes(text), SIZE_EXAMPLES)
    )
    if value is None:
        what = "time" if unit == "ns" else "size"
        raise Problem("value-of-another-unit", where=where, what=what, examples=examples)
    return float(value)
