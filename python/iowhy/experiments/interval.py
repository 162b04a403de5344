"""Values with their intervals: what statistics find, without what it takes to find it."""

import math

from msgspec import Struct


class Interval(Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is an interval: a single value has none (NaN)."""
        return not math.isnan(self.low)


class TwoSamples(Struct, frozen=True):
    """How the second sample differs from the first.

    ``ratio`` is the ratio of geometric means with Welch's interval (None with fewer than 3 values in
    one of them); ``superiority`` the chance that a value of the second exceeds one of the first (0.5:
    no difference); the p values are of Mann-Whitney's and of the permutation test of the means.
    """

    ratio: Interval | None
    plain_ratio: float
    superiority: float
    p_mann_whitney: float | None
    p_permutation: float | None
