"""Points of stacks (recorder/bpf/points.h): on average each call stands for its own length, whatever its neighbours are."""

import ctypes
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import costly
from tests.stacks.kernel_side import library

MEAN = 1_000_000
#: Of shorter calls too few have a point for an average of them.
LEAST = 30_000
#: Standard deviations by which an average may miss: by chance one in some millions does.
DEVIATIONS = 5.5


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library("points.c", tmp_path_factory.mktemp("points"))


def _weights(
    points: ctypes.CDLL, function: str, durations: Sequence[int], times: int, seed: int
) -> list[int]:
    array = ctypes.c_uint64 * len(durations)
    weights = array()
    arguments = (len(durations), times, MEAN, seed)
    getattr(points, function)(array(*durations), weights, *map(ctypes.c_uint64, arguments))
    return list(weights)


def _holds(durations: Sequence[int], weights: Sequence[int], times: int) -> None:
    for dur, weight in zip(durations, weights, strict=True):
        # One call's weight: at most one and a half gaps beside its length, of variance dur × MEAN or less.
        most = (dur * MEAN + MEAN**2 if dur > MEAN else 1.5 * dur * MEAN) * times
        assert abs(weight - dur * times) <= DEVIATIONS * most**0.5, (dur, weight / times)


@costly(6)
@given(
    durations=st.lists(
        st.sampled_from((LEAST, 90_000, 300_000, 700_000, 2_999_999, 3_000_000, 8_000_000))
        | st.integers(LEAST, 5_000_000),
        min_size=1,
        max_size=9,
    ),
    seed=st.integers(0, 2**32),
)
def test_each_call_stands_for_its_length(
    points: ctypes.CDLL, durations: list[int], seed: int
) -> None:
    rounds = 20_000
    weights = _weights(points, "sample", durations, rounds * len(durations), seed)
    _holds(durations, weights, rounds)
    # No time counts twice: a gap lies across the beginning, one across the end.
    assert abs(sum(weights) - rounds * sum(durations)) <= 3 * MEAN


@costly(6)
@given(
    durations=st.lists(st.integers(LEAST, 4_000_000), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_so_do_the_first_calls_of_a_recording(
    points: ctypes.CDLL, durations: list[int], seed: int
) -> None:
    runs = 40_000
    _holds(durations, _weights(points, "sample_starts", durations, runs, seed), runs)
