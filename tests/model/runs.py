"""Runs made by hand: what each thread does one after the other, as the recorder would have seen it."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from iowhy.model.recorded import SLICES, Recorded, Slice

US = 1_000.0
DEV = 8 << 20


class Step(Struct, frozen=True):
    """A thread computes, then submits a request and waits for it: a read, or a sync that makes a kernel thread write and flush."""

    compute_us: float
    wait_us: float
    kind: int = 0
    place: int = 0
    bytes: int = 4096


def run(*threads: Sequence[Step], cpus: int = 8, dev: int = DEV) -> Recorded:
    """A run of these threads, all from the same start. Each request is a wait of its thread, as long as the request."""
    requests: list[tuple[float, float, int, int, int, int]] = []
    waits: list[tuple[float, float, int, str, bool]] = []
    busy: list[tuple[float, float]] = []
    for number, steps in enumerate(threads):
        now, computed, tid = 0.0, 0.0, 100 + number
        for step in steps:
            begin = now + step.compute_us * US
            end = begin + step.wait_us * US
            flush = step.kind == 2
            # A thread of the kernel makes the flush of a sync, after the thread has begun to wait.
            requests.append((begin + (1 if flush else 0), end, step.kind, 9 if flush else tid, step.place, step.bytes))  # fmt: skip
            waits.append((begin, end - begin, tid, "sync" if flush else "read", flush))
            computed += step.compute_us * US
            now = end
        busy.append((computed, now))
    elapsed = max(end for _, end in busy)
    requests.sort()
    waits.sort()
    slices = [
        Slice(100 + number, at, cpu / SLICES, 0.0, (end - cpu) / SLICES, end / SLICES,
              cpu / SLICES / len(threads), 0.0, (elapsed - cpu) / SLICES / len(threads), 0.0)
        for number, (cpu, end) in enumerate(busy) for at in range(SLICES)
    ]  # fmt: skip
    columns = list(zip(*requests, strict=True))
    count = len(requests)
    return Recorded(
        elapsed_ns=elapsed,
        cpus=cpus,
        requests={
            "begin_ns": np.array(columns[0]),
            "done_ns": np.array(columns[1]),
            "kind": np.array(columns[2]),
            "tid": np.array(columns[3]),
            "place": np.array(columns[4]),
            "bytes": np.array(columns[5]),
            "dev": np.full(count, dev),
            "own": np.full(count, True),
            "of": np.where(np.array(columns[2]) == 2, "flush", "data"),
            "ino": np.full(count, 12),
            "page": np.array(columns[4]) // 4096,
            "cached": np.full(count, True),
        },
        waits={
            name: np.array(column)
            for name, column in zip(
                ("begin_ns", "dur_ns", "tid", "of", "syncs"), zip(*waits, strict=True), strict=True
            )
        }
        | {"reason": np.full(count, "page_read")},
        slices=tuple(slices),
        threads=frozenset(100 + number for number in range(len(threads))),
        slice_ns=elapsed / SLICES,
        part=1.0,
    )
