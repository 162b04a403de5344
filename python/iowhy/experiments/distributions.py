"""Student's distribution and two tests of two samples, as far as experiments and comparisons need them.

SciPy has these as well; it is 140 MB and takes half a second to import. `tests/experiment/test_distributions.py` holds every one
of them against it.
"""

from functools import lru_cache
from itertools import combinations
from math import comb, erfc, exp, isfinite, lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Where a sample without equal values is this small (either of the two), U has its exact distribution, as it is
#: far from normal there (Mann and Whitney 1947, who give tables up to 8).
_EXACT_UP_TO = 8


def student_p(t: float, freedom: float) -> float:
    """P(|T| >= |t|) under Student's distribution, ``freedom`` > 0 need not be whole (DLMF 8.17.1; Abramowitz and
    Stegun 26.5.27: it is the regularized incomplete beta function at freedom / (freedom + t²))."""
    if not isfinite(t):
        return 0.0
    if t == 0:
        return 1.0
    whole = freedom + t * t
    return _incomplete_beta(freedom / 2, 0.5, freedom / whole, t * t / whole)


@lru_cache(maxsize=1024)  # an answer asks for the same few again and again
def student_quantile(probability: float, freedom: float) -> float:
    """The t that a value stays below with this probability; 0 < probability < 1."""
    if probability < 0.5:
        return -student_quantile(1 - probability, freedom)
    both_tails = 2 * (1 - probability)
    low, high = 0.0, 1.0
    while student_p(high, freedom) > both_tails:
        low, high = high, 2 * high
    # Newton's steps, and a half of what is left where one leads out of it.
    found = (low + high) / 2
    for _ in range(200):
        over = student_p(found, freedom) - both_tails
        low, high = (found, high) if over > 0 else (low, found)
        step = over / (2 * _student_density(found, freedom))
        better = found + step if low < found + step < high else (low + high) / 2
        if abs(better - found) <= 4e-16 * better or high - low <= 4e-16 * high:
            return better
        found = better
    return found


def welch_interval(a: Floats, b: Floats, level: float) -> tuple[float, float]:
    """The interval of mean(b) - mean(a) where their variances may differ (Welch 1947; Satterthwaite's degrees of
    freedom). Each has two values or more."""
    difference = float(b.mean() - a.mean())
    of_a, of_b = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
    both = of_a + of_b
    if both == 0:
        return difference, difference
    freedom = both**2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    half = student_quantile((1 + level) / 2, freedom) * sqrt(both)
    return difference - half, difference + half


def mann_whitney_p(a: Floats, b: Floats) -> float:
    """Two-sided p value of Mann and Whitney's U: exact where a sample is small and no two values are equal, else
    normal, with the corrections for ties and for continuity (Hollander and Wolfe 1973, chapter 4)."""
    m, n = len(a), len(b)
    both = np.concatenate((a, b))
    pairs = np.subtract.outer(a, b)
    wins = float((pairs > 0).sum() + 0.5 * (pairs == 0).sum())
    most = max(wins, m * n - wins)
    _, equal = np.unique(both, return_counts=True)
    if min(m, n) <= _EXACT_UP_TO and equal.max() == 1:
        ways = _ways_of_u(m, n)
        return min(1.0, 2 * float(sum(ways[int(most) :])) / comb(m + n, m))
    ties = float((equal.astype(float) ** 3 - equal).sum())
    count = m + n
    variance = m * n / 12 * (count + 1 - ties / (count * (count - 1)))
    if variance == 0:
        return 1.0
    z = (most - m * n / 2 - 0.5) / sqrt(variance)
    return min(1.0, erfc(z / sqrt(2)))


def permutation_p(a: Floats, b: Floats, random: np.random.Generator, most: int = 9999) -> float:
    """Two-sided p value of mean(a) - mean(b), from all ways to share their values out, or from ``most`` random ones
    if there are more; the one seen then counts as one of them (Phipson and Smyth 2010)."""
    m, n = len(a), len(b)
    both = np.concatenate((a, b))
    seen = float(a.mean() - b.mean())
    exact = comb(m + n, m) <= most
    if exact:
        first = np.array(list(combinations(range(m + n), m)))
    else:
        first = np.array([random.permutation(m + n)[:m] for _ in range(most)])
    sums = both[first].sum(axis=1)
    drawn = sums / m - (both.sum() - sums) / n
    # What differs by rounding alone is equal.
    close = 100 * np.finfo(float).eps * max(abs(seen), float(np.abs(both).max()))
    least = min(int((drawn <= seen + close).sum()), int((drawn >= seen - close).sum()))
    own = 0 if exact else 1
    return min(1.0, 2 * (least + own) / (len(drawn) + own))


def _student_density(t: float, freedom: float) -> float:
    logarithm = (
        lgamma((freedom + 1) / 2)
        - lgamma(freedom / 2)
        - log(freedom * pi) / 2
        - (freedom + 1) / 2 * log(1 + t * t / freedom)
    )
    return exp(logarithm)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b) with ``rest`` = 1 - x, which the caller knows without cancellation: the continued fraction DLMF 8.17.22,
    of the end at which it converges fast (8.17.4)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    if x == 0:
        return 0.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)) / a
    return front / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1/(1 + d2/(1 + …)) of DLMF 8.17.22, from the front (Lentz's way, DLMF 3.10.15)."""
    value, above, below = 1.0, 1.0, 0.0
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / (1 + d * below)
        above = 1 + d / above
        value *= above * below
        if abs(above * below - 1) < 1e-16:
            break
    return value


def _ways_of_u(m: int, n: int) -> list[int]:
    """In how many of the orders of m + n different values U is 0, 1, …, m·n: the coefficients of Gauss's binomial
    (m + n over m) in q (Mann and Whitney 1947, by their recursion)."""
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        # Times (1 - q^(n + i)), then divided by (1 - q^i); both exact.
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    return ways
