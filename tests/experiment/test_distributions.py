"""What experiments calculate themselves is what SciPy says (for the tests alone it is installed)."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from iowhy.experiments import distributions
from iowhy.experiments.statistics import two_samples
from tests.examples import costly

EXACT = 1e-9
FREEDOM = st.one_of(st.integers(1, 10_000).map(float), st.floats(0.6, 500))
#: Few different values, so that ties are among them, or any.
VALUES = st.one_of(st.integers(0, 6).map(float), st.floats(-50, 50).map(lambda x: round(x, 3)))
SAMPLE = st.lists(VALUES, min_size=3, max_size=14).map(np.array)


@given(st.floats(-60, 60), FREEDOM)
def test_p_of_students_t(t: float, freedom: float) -> None:
    truth = 2 * special.stdtr(freedom, -abs(t))
    assert distributions.student_p(t, freedom) == pytest.approx(truth, rel=EXACT, abs=1e-300)


@given(st.floats(1e-6, 1 - 1e-6), FREEDOM)
def test_quantiles_of_students_t(probability: float, freedom: float) -> None:
    truth = special.stdtrit(freedom, probability)
    found = distributions.student_quantile(probability, freedom)
    assert found == pytest.approx(truth, rel=EXACT, abs=EXACT)


@given(SAMPLE, SAMPLE)
def test_welchs_interval(a: np.ndarray, b: np.ndarray) -> None:
    assume(np.ptp(a) > 0 or np.ptp(b) > 0)
    truth = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    found = distributions.welch_interval(a, b, 0.95)
    assert found == pytest.approx((truth.low, truth.high), rel=EXACT, abs=EXACT)


@given(SAMPLE, SAMPLE)
def test_mann_and_whitneys_p(a: np.ndarray, b: np.ndarray) -> None:
    truth = stats.mannwhitneyu(a, b, alternative="two-sided").pvalue
    assert distributions.mann_whitney_p(a, b) == pytest.approx(truth, rel=EXACT)


#: Whole numbers, of which means are exact: else values that differ by rounding are on either side of SciPy's border.
WHOLE = st.sampled_from([4, 8]).flatmap(
    lambda size: st.lists(st.integers(0, 40).map(float), min_size=size, max_size=size).map(np.array)
)


@costly(10)
@given(WHOLE, WHOLE, st.integers(0, 99))
def test_permutations_all_or_drawn_from_the_same_seed(
    a: np.ndarray, b: np.ndarray, seed: int
) -> None:
    truth = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        vectorized=True,
        n_resamples=999,
        rng=np.random.default_rng(seed),
    ).pvalue
    found = distributions.permutation_p(a, b, np.random.default_rng(seed), most=999)
    assert found == pytest.approx(truth, rel=EXACT)


@pytest.mark.parametrize(("m", "n"), [(3, 4), (5, 5), (8, 30)])
def test_ways_of_u_are_all_orders(m: int, n: int) -> None:
    ways = distributions._ways_of_u(m, n)
    assert sum(ways) == special.comb(m + n, m, exact=True)
    assert ways == ways[::-1] and ways[0] == 1


def test_samples_without_any_spread_have_a_difference_and_no_error() -> None:
    found = two_samples([2.0, 2.0, 2.0], [4.0, 4.0, 4.0])
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.high) == pytest.approx((2, 2))
    same = two_samples([3.0] * 5, [3.0] * 12)
    assert (same.p_mann_whitney, same.p_permutation) == (1, 1)
