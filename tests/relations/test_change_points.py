"""Where even stretches end: known steps, and what goes up and down all along."""

import random

import pytest

from iowhy.relations.change_points import MOST, Point, change_points

READS, COMPUTES, RESTS = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def noisy(means: list[Point], noise: float = 0.05, seed: int = 1) -> list[Point]:
    source = random.Random(seed)
    return [tuple(value + source.gauss(0, noise) for value in one) for one in means]


@pytest.mark.parametrize(
    ("means", "cuts"),
    [
        ([READS] * 30 + [COMPUTES] * 40 + [RESTS] * 30, [30, 70]),
        ([READS] * 100, []),
        # A stall in a long recording.
        ([READS] * 150 + [RESTS] * 2 + [READS] * 148, [150, 152]),
        # Less than DISTANCE apart.
        ([(0.6, 0.4, 0.0)] * 50 + [(0.4, 0.6, 0.0)] * 50, []),
        ([(0.7, 0.3, 0.0)] * 50 + [(0.35, 0.65, 0.0)] * 50, [50]),
        # Bursts that repeat all along, and what comes after them.
        ([READS, READS, COMPUTES, COMPUTES] * 30, []),
        (([READS] * 5 + [COMPUTES] * 5) * 12, []),
        ([READS, READS, COMPUTES, COMPUTES] * 15 + [RESTS] * 40, [60]),
        ([READS] * 11, []),
    ],
)
def test_cuts_are_where_the_mean_changes(means: list[Point], cuts: list[int]) -> None:
    for seed in range(3):
        found = change_points(noisy(means, seed=seed), 1 if len(means) == 300 else 3)
        assert len(found) == len(cuts)
        assert all(abs(one - other) <= 1 for one, other in zip(found, cuts, strict=True))


def test_there_are_at_most_seven() -> None:
    steps = [READS, COMPUTES, RESTS] * 4
    found = change_points(noisy([one for step in steps for one in [step] * 20]), 3)
    assert len(found) < MOST == 7


def test_noise_alone_is_even() -> None:
    for seed in range(5):
        assert change_points(noisy([READS] * 200, noise=0.3, seed=seed), 3) == []
