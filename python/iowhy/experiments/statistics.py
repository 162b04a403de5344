"""Effects and their intervals from trials run in blocks.

A block holds one trial of every condition, in random order. All arithmetic is on the logarithm of
what was measured, so that an effect is a ratio; what differs from block to block (a machine that
gets slower) cancels, and what changes *within* a block is taken out by regressing on the time at
which each trial ran. The block is the unit: noise may differ between conditions.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from iowhy.experiments.distributions import (
    Floats,
    mann_whitney_p,
    permutation_p,
    student_p,
    student_quantile,
    welch_interval,
)
from iowhy.experiments.interval import Interval, TwoSamples

RESAMPLES = 2000
FALSE_ALARM = 0.05
"""Chance that an experiment whose levers do nothing says that one does, over all levers and looks."""


class Fit(Struct, frozen=True):
    """A contrast between conditions, on the logarithmic scale.

    ``error`` is its standard error with ``freedom`` degrees of freedom; ``design`` (one row per
    block) and ``residuals`` are what the bootstrap draws from.
    """

    estimate: float
    error: float
    freedom: int
    design: Floats
    residuals: Floats

    def p(self) -> float:
        """Two-sided p value of no effect."""
        if self.error == 0:
            return 1.0 if self.estimate == 0 else 0.0
        return student_p(self.estimate / self.error, self.freedom)

    def negated(self) -> "Fit":
        """The same contrast with its sign turned."""
        return Fit(-self.estimate, self.error, self.freedom, self.design, -self.residuals)

    def interval(self, level: float) -> tuple[float, float]:
        """Student's interval, for the decisions at each look."""
        half = student_quantile((1 + level) / 2, self.freedom) * self.error
        return self.estimate - half, self.estimate + half


def fit(logs: Floats, when: Floats, weights: Floats) -> Fit | None:
    """Estimates ``sum(weights * log)`` over the blocks, free of drift.

    ``logs`` and ``when`` have one row per block and one column per condition; ``when`` is the middle
    of each trial in seconds. Weights add up to 0. None with fewer than 3 blocks.
    """
    count = len(logs)
    if count < 3:
        return None
    contrast = logs @ weights
    columns = [np.ones(count)]
    shift = when @ weights
    # From 5 blocks on a degree of freedom is well spent on drift; always, never by looking first.
    scale = float(np.abs(shift).max())
    if count >= 5 and scale > 0 and np.ptp(shift) > 1e-9 * scale:
        columns.append(shift / scale)
    design = np.column_stack(columns)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        design = design[:, :1]
    inverse = np.linalg.pinv(design)
    beta = inverse @ contrast
    residuals = contrast - design @ beta
    freedom = count - design.shape[1]
    variance = float(residuals @ residuals) / freedom
    error = float(np.sqrt(variance * float(inverse[0] @ inverse[0])))
    return Fit(float(beta[0]), error, freedom, design, residuals)


def bootstrap(
    found: Fit, seed: int = 1, level: float = 0.95, resamples: int = RESAMPLES
) -> Interval:
    """Studentised bootstrap interval of a fit (Efron and Tibshirani 1993, chapter 12).

    Residuals are drawn with replacement after each is divided by its own standard error, and every
    drawn sample gets its own error: the plain percentile interval is far too short for so few blocks.
    """
    if found.error == 0:
        return Interval(found.estimate, found.estimate, found.estimate)
    random = np.random.default_rng(seed)
    design = found.design
    inverse = np.linalg.pinv(design)
    leverage = np.einsum("ij,ji->i", design, inverse)
    raw = found.residuals / np.sqrt(np.maximum(1 - leverage, 1e-9))
    # Flipping signs at random doubles the distinct values: with 5 blocks that tames the tails.
    drawn = random.choice(raw, size=(resamples, len(raw)))
    drawn *= random.choice(np.array([-1.0, 1.0]), size=drawn.shape)
    betas = drawn @ inverse.T
    left = drawn - betas @ design.T
    variance = (left**2).sum(axis=1) / found.freedom
    errors = np.sqrt(variance * float(inverse[0] @ inverse[0]))
    usable = errors > 1e-3 * found.error
    pivots = np.abs(betas[usable, 0] / errors[usable])
    half = float(np.quantile(pivots, level)) * found.error
    return Interval(found.estimate, found.estimate - half, found.estimate + half)


def looks(least: int, most: int) -> list[int]:
    """After how many blocks the trials are looked at: at most four times, farther apart each time."""
    if most <= least:
        return [most]
    steps = min(4, most - least + 1)
    return sorted({round(float(n)) for n in np.geomspace(least, most, steps)})


def spent(look: int, total: int) -> float:
    """The share of the false-alarm budget that look number ``look`` (from 0) may use.

    Each look may use twice what the one before could; together they use all of it, so that looking
    early does not raise the chance of a false alarm (the union bound).
    """
    return float(2**look / (2**total - 1))


def blocks_needed(found: Fit, blocks: int, resolve: float, alpha: float) -> int:
    """Blocks at which an interval would be half as wide as ``resolve`` (log scale), at this noise."""
    deviation = found.error * np.sqrt(blocks)
    if resolve <= 0:
        return 10_000
    count = max(blocks, 3)
    for _ in range(60):
        factor = student_quantile(1 - alpha / 2, max(count - 2, 1))
        wanted = int(np.ceil((factor * deviation / resolve) ** 2))
        if wanted <= count:
            return count
        count = min(max(count + 1, (count + wanted) // 2), 10_000)
    return count


# -- two samples, for comparisons of runs that were not run in blocks ------------------------------


def two_samples(
    first: Sequence[float] | Floats, second: Sequence[float] | Floats, seed: int = 1
) -> TwoSamples:
    """Compares two samples of positive values; with fewer than 3 values in one, no interval or p."""
    a, b = np.log(first), np.log(second)
    pairs = np.subtract.outer(b, a)
    superiority = float((pairs > 0).mean() + 0.5 * (pairs == 0).mean())
    plain = float(np.exp(b.mean() - a.mean()))
    if min(len(a), len(b)) < 3:
        return TwoSamples(None, plain, superiority, None, None)
    low, high = welch_interval(a, b, level=0.95)
    return TwoSamples(
        Interval(plain, float(np.exp(low)), float(np.exp(high))),
        plain,
        superiority,
        mann_whitney_p(b, a),
        permutation_p(b, a, np.random.default_rng(seed)),
    )
