"""Kernel stacks of other tools, judged by the recorder's rules (recorder/src/reasons.toml)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.calls import wait_rules

#: The kernel marks a thread as in I/O wait inside these (kernel/sched/core.c).
IO_WAITS = {"io_schedule", "io_schedule_timeout", "io_schedule_prepare"}
#: Frames of the tracing and of the switch itself, which every stack begins with.
_SWITCH = ("__schedule", "__traceiter_", "trace_", "perf_trace_", "bpf_", "__bpf_")
FRAMES_MAX = 48
OTHER = "other"


def reason(frames: list[str]) -> str:
    """The reason of a wait with this stack: that of the first rule that matches."""
    bare = [frame.split(".")[0] for frame in frames]

    def among(names: list[str]) -> bool:
        return any(
            any(frame.startswith(name[:-1]) for frame in bare)
            if name.endswith("*")
            else name in bare
            for name in names
        )

    for rule in wait_rules():
        if among(rule["any"]) and (not rule.get("also") or among(rule["also"])):
            return str(rule["reason"])
    return OTHER


class Judged:
    """The stacks of a trace's waits, each judged once."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._known: dict[int, tuple[int, str, bool]] = {0: (0, "", False)}

    def add(self, number: int, strings: Sequence[str]) -> None:
        """Judge the stack that is a string, innermost function first, and keep it in `stacks`."""
        if number in self._known:
            return
        frames = strings[number].split("\n")
        while frames and frames[0].startswith(_SWITCH):
            frames.pop(0)
        frames = frames[:FRAMES_MAX]
        stack_id = len(self._known)
        self._parsed.add("stacks", {"stack_id": stack_id, "frames": frames})
        self._known[number] = (stack_id, reason(frames), not IO_WAITS.isdisjoint(frames))

    def of(self, numbers: Any) -> tuple[Any, list[str], Any]:
        """Ids, reasons and whether they are I/O waits."""
        found = [self._known[number] for number in numbers.tolist()]
        return (
            np.array([one[0] for one in found], dtype=np.int64),
            [one[1] for one in found],
            np.array([one[2] for one in found], dtype=bool),
        )
