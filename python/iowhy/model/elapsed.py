"""The elapsed time of a run in which threads wait longer or shorter than they did."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
from msgspec import Struct

from iowhy.model.recorded import SLICES, Recorded


class Elapsed(Struct, frozen=True):
    """In ns; `waiting_ns` is what is left of waits in it."""

    ns: float
    waiting_ns: float


class Waits:
    """How much of each thread's waits is in which slice, as it was."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self._of = run.waits["tid"]
        at = run.waits["begin_ns"] // run.slice_ns if len(self._of) else np.array([])
        self._slice = np.clip(at, 0, SLICES - 1).astype(int)
        self._was = self._sums(run.waits["dur_ns"])

    def _sums(self, lengths: Any) -> dict[tuple[int, int], float]:
        sums: dict[tuple[int, int], float] = defaultdict(float)
        for tid, slice_, ns in zip(
            self._of.tolist(), self._slice.tolist(), lengths.tolist(), strict=True
        ):
            sums[tid, slice_] += ns
        return sums

    def ratios(self, now: Any) -> dict[tuple[int, int], float]:
        """By thread and slice, what the waits are multiplied with; by (thread, -1) over all slices, by (0, -1) over all threads."""
        before, after = self._was, self._sums(now)
        found = {key: after[key] / was for key, was in before.items() if was > 0}
        was_of, is_of = _by_thread(before), _by_thread(after)
        found |= {(tid, -1): is_of[tid] / was if was else 1.0 for tid, was in was_of.items()}
        was = sum(was_of.values())
        found[0, -1] = sum(is_of.values()) / was if was else 1.0
        return found


def _by_thread(sums: dict[tuple[int, int], float]) -> dict[int, float]:
    found: dict[int, float] = defaultdict(float)
    for (tid, _), ns in sums.items():
        found[tid] += ns
    return found


def elapsed(
    run: Recorded,
    ratios: dict[tuple[int, int], float],
    *,
    cpu: float = 1.0,
    runnable: float = 1.0,
    more_cpus: float = 1.0,
    most_ns: float = math.inf,
) -> Elapsed:
    """Each slice is as long as what its threads did is worth, and no shorter than what one of them does on the critical path.

    It takes `most_ns` at most, by its last point: threads that wait at once wait for longer without the run being as much longer.

    `cpu` and `runnable` are factors of time on a CPU and of waiting for one; `more_cpus` is how many times as many there are.
    """
    waits = worth = cpus = 0.0
    longest: dict[int, float] = defaultdict(float)
    shares: dict[int, float] = defaultdict(float)
    for one in run.slices:
        ratio = ratios.get((one.tid, one.slice))
        if ratio is None:
            ratio = ratios.get((one.tid, -1), ratios[0, -1])
        was = one.cpu_ns + one.runnable_ns + one.waiting_ns
        is_ = one.cpu_ns * cpu + one.runnable_ns * runnable + one.waiting_ns * ratio
        if was > 0:
            longest[one.slice] = max(longest[one.slice], is_ * one.path_ns / was)
        shares[one.slice] += (
            one.cpu_worth_ns * cpu + one.runnable_worth_ns * runnable + one.waiting_worth_ns * ratio
        )
        worth += one.cpu_worth_ns + one.runnable_worth_ns + one.waiting_worth_ns
        waits += one.waiting_worth_ns * ratio
        cpus += one.cpu_ns * cpu
    by_path = sum(max(shares[at], longest[at]) for at in shares)
    idle = max(0.0, run.elapsed_ns - worth)
    least = cpus / (run.cpus * more_cpus) if run.cpus else 0.0
    return Elapsed(max(min(by_path + idle, most_ns), least), waits)
