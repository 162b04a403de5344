"""Kernel stacks of other tools, judged by the recorder's rules (iowhy/tables/reasons.toml)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from iowhy.sources.format import Parsed
from iowhy.tables import rules

#: The kernel marks a thread as in I/O wait inside these (kernel/sched/core.c).
IO_WAITS = {"io_schedule", "io_schedule_timeout", "io_schedule_prepare"}
#: Frames of the tracing and of the switch itself, which every stack begins with.
_SWITCH = ("__schedule", "__traceiter_", "trace_", "perf_trace_", "bpf_", "__bpf_")
FRAMES_MAX = 48
OTHER = "other"


def reason(frames: list[str]) -> str:
    """The reason of a wait with this stack: that of the first rule that matches."""
    bare = [frame.split(".")[0] for frame in frames]

    def among(names: tuple[str, ...]) -> bool:
        return any(
            any(frame.startswith(name[:-1]) for frame in bare)
            if name.endswith("*")
            else name in bare
            for name in names
        )

    for rule in rules():
        if among(rule.any_of) and (not rule.also or among(rule.also)):
            return rule.reason
    return OTHER


class Reasons:
    """The reasons of a trace's waits by their stacks, each of which is looked at once and kept in `stacks`."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._ids: dict[int, int] = {}
        self._reasons: list[str] = []
        self._io: list[bool] = []

    def of(self, stacks: pa.Array, strings: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Ids, reasons and whether they are I/O waits, of stacks that are numbers of strings, or NULL.

        A string has the stack's functions, the innermost first, one a line.
        """
        for number in pc.unique(stacks.drop_null()).sort().to_pylist():
            if number not in self._ids:
                self._ids[number] = len(self._ids) + 1
                self._add(self._ids[number], strings[number].as_py())
        found = pa.array([self._ids.get(number) for number in stacks.to_pylist()], pa.int64())
        places = pc.subtract(found, 1)
        reasons = pa.array(self._reasons, pa.string()).take(places)
        return found, reasons, pa.array(self._io, pa.bool_()).take(places)

    def _add(self, stack_id: int, text: str) -> None:
        frames = text.split("\n")
        while frames and frames[0].startswith(_SWITCH):
            frames.pop(0)
        frames = frames[:FRAMES_MAX]
        self._parsed.add("stacks", {"stack_id": stack_id, "frames": frames})
        self._reasons.append(reason(frames))
        self._io.append(not IO_WAITS.isdisjoint(frames))
