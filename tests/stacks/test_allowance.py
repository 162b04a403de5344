"""What stacks are allowed (recorder/bpf/allowance.h): as many as time allows, evenly, however many threads want them."""

import ctypes
from collections.abc import Sequence

import pytest

from tests.stacks.kernel_side import library

MS = 1_000_000
S = 1000 * MS
#: recorder/bpf/allowance.h: stacks a second, and those that are saved at most.
A_SECOND, SAVED = 2_000, 384
#: The time that one takes is so little of what it uses up.
TIMES = 200
#: Longest and shortest calls that paths make, all of them below and above the least gap.
MIXED = (MS // 5, MS, 4 * MS)


class Taken(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("weight", "squares", "samples", "in_calls")]


class Crowd:
    """A recording so far: its clocks on each CPU, and what it used of its allowance."""

    def __init__(self, crowds: ctypes.CDLL, cpus: int = 2) -> None:
        self.now = S
        self._crowds = crowds
        self._cpus = cpus
        self._used = ctypes.c_uint64(0)
        self._clocks = (ctypes.c_uint64 * (2 * cpus))()

    def runs(
        self, threads: int, durations: Sequence[int], ns: int, spent: int = 0
    ) -> Sequence[Taken]:
        """What is taken of each path while so many threads are in calls."""
        taken = (Taken * len(durations))()
        times = map(ctypes.c_uint64, (self._cpus, self.now, self.now + ns))
        of = (ctypes.c_uint64(threads), (ctypes.c_uint64 * len(durations))(*durations))
        self._crowds.crowd(
            *of,
            ctypes.c_uint64(len(durations)),
            *times,
            ctypes.byref(self._used),
            self._clocks,
            taken,
            ctypes.c_uint64(spent),
            ctypes.c_uint64(1),
        )
        self.now += ns
        return list(taken)


@pytest.fixture(scope="module")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library("crowd.c", tmp_path_factory.mktemp("crowd"))


def _gap(threads: int) -> int:
    """Between stacks, ns of time in calls: the least, or what makes as many as are allowed."""
    return max(MS, threads * S // A_SECOND)


@pytest.mark.parametrize("threads", [1, 4, 30, 300, 3_000])
def test_time_bounds_how_many_are_taken_and_all_are_that_may_be(
    crowds: ctypes.CDLL, threads: int
) -> None:
    dur = 3 * _gap(threads) // 4
    taken = sum(one.samples for one in Crowd(crowds).runs(threads, [dur], 2 * S))
    assert taken <= 2 * A_SECOND + SAVED
    # A call has one stack: where two points lie in it, it stands for both.
    assert taken >= 0.8 * 2 * S * threads / _gap(threads)


@pytest.mark.parametrize("threads", [3, 6, 30, 99])
def test_each_path_gets_its_time_whatever_the_number_of_threads(
    crowds: ctypes.CDLL, threads: int
) -> None:
    taken = Crowd(crowds).runs(threads, MIXED, 10 * S)
    whole = sum(one.in_calls for one in taken)
    gap = _gap(threads)
    for one in taken:
        assert abs(one.weight - one.in_calls) <= 5.5 * (one.in_calls * 2 * gap) ** 0.5
    assert sum(one.weight for one in taken) == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("threads", [4, 30, 300])
def test_gaps_stay_as_long_as_they_have_become(crowds: ctypes.CDLL, threads: int) -> None:
    """Where some samples stand for much more than others, the same number of them says less."""
    crowd = Crowd(crowds)
    dur = _gap(threads) // 5
    crowd.runs(threads, [dur], S)
    (taken,) = crowd.runs(threads, [dur], 5 * S)
    mean_square = taken.squares / taken.samples
    mean = taken.weight / taken.samples / 1000
    # Gaps drawn evenly from half of the mean to one and a half make it 1.08.
    assert mean_square / mean**2 < 1.15


def test_one_thread_after_many_is_sampled_soon_again(crowds: ctypes.CDLL) -> None:
    crowd = Crowd(crowds)
    crowd.runs(300, [MS], 2 * S)
    crowd.runs(1, [MS], S)
    (after,) = crowd.runs(1, [MS // 4], S)
    assert 900 <= after.samples <= 1_100
    assert after.weight == pytest.approx(after.in_calls, rel=0.01)


@pytest.mark.parametrize("threads", [1, 4, 30])
@pytest.mark.parametrize("spent", [10_000, 20_000])
def test_what_takes_long_is_taken_less_often(crowds: ctypes.CDLL, threads: int, spent: int) -> None:
    """However long one takes, they take the same share of a CPU, and each path has its time."""
    taken = Crowd(crowds).runs(threads, MIXED, 10 * S, spent)
    samples = sum(one.samples for one in taken)
    share = samples * spent / (10 * S)
    assert share <= 1.05 / TIMES
    if threads > 1:
        assert share >= 0.8 / TIMES
    gap = max(_gap(threads), threads * TIMES * spent)
    for one in taken:
        assert abs(one.weight - one.in_calls) <= 5.5 * (one.in_calls * 2 * gap) ** 0.5


def test_an_interrupt_in_the_middle_of_one_stops_the_others_not_for_long(
    crowds: ctypes.CDLL,
) -> None:
    crowd = Crowd(crowds)
    crowd.runs(1, [MS], 20 * MS, 50 * MS)
    (after,) = crowd.runs(1, [MS // 4], S)
    assert after.samples >= 900
