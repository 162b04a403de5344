"""What a run may cost: as a bound (`sync_calls <= 10`) or as growth (`sync_calls > +0`), held against recordings."""

from iowhy.expect.expectation import Expectation, read_expectation
from iowhy.expect.growth import Grown, Growth, grown, read_growth, times_grown
from iowhy.expect.outcome import Outcome, outcomes

__all__ = [
    "Expectation",
    "Grown",
    "Growth",
    "Outcome",
    "grown",
    "outcomes",
    "read_expectation",
    "read_growth",
    "times_grown",
]
