"""Slices that overlap, laid out in lanes: in each lane they follow one another."""

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Lanes:
    """The lanes of each key so far. A new slice takes the lowest lane that is free when it begins."""

    def __init__(self) -> None:
        #: By key: (end, lane) of the slices that may still run, lanes that are free, and lanes in all.
        self._open: dict[int, tuple[list[tuple[int, int]], list[int], int]] = {}

    def assign(
        self, keys: "NDArray[np.int64]", begins: "NDArray[np.int64]", ends: "NDArray[np.int64]"
    ) -> "NDArray[np.int64]":
        """The lane of each slice, from 0. They come by key, then in the order of their begin, a batch at a time."""
        out = np.zeros(len(keys), np.int64)
        bounds = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
        for first, after in pairwise(bounds):
            if first < after:
                key = int(keys[first])
                # Keys come one after another: of those before, nothing is needed any more.
                self._open = {key: self._open.get(key, ([], [], 0))}
                part = slice(first, after)
                out[part] = self._of_one(key, begins[part], ends[part])
        return out

    def _of_one(
        self, key: int, begins: "NDArray[np.int64]", ends: "NDArray[np.int64]"
    ) -> "NDArray[np.int64] | list[int]":
        running, free, lanes = self._open[key]
        last = max((end for end, _ in running), default=None)
        one_by_one = bool((begins[1:] >= ends[:-1]).all())
        if one_by_one and lanes <= 1 and (last is None or begins[0] >= last):
            self._open[key] = ([(int(ends[-1]), 0)], [], 1)
            return np.zeros(len(begins), np.int64)
        found = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            while running and running[0][0] <= begin:
                heappush(free, heappop(running)[1])
            if free:
                lane = heappop(free)
            else:
                lane, lanes = lanes, lanes + 1
            heappush(running, (end, lane))
            found.append(lane)
        self._open[key] = (running, free, lanes)
        return found
