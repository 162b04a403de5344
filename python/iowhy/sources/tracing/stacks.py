"""Kernel stacks of other tools, judged by the recorder's rules (recorder/src/reasons.toml)."""

from __future__ import annotations

from typing import cast

import pyarrow as pa

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.calls import wait_rules
from iowhy.sources.tracing.workspace import Workspace

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


def judge(space: Workspace, parsed: Parsed) -> None:
    """Make `stack_of` (n, stack_id, reason, io) for the switches with a stack; fill `stacks`."""
    found = space.rows("SELECT frames, list(n) FROM frames GROUP BY frames ORDER BY min(n)")
    ids: list[tuple[int, int, str, bool]] = []
    for stack_id, (told, events) in enumerate(found, 1):
        frames = [str(frame) for frame in cast(list[object], told)]
        while frames and frames[0].startswith(_SWITCH):
            frames.pop(0)
        frames = frames[:FRAMES_MAX]
        parsed.add("stacks", {"stack_id": stack_id, "frames": frames})
        why, io = reason(frames), not IO_WAITS.isdisjoint(frames)
        ids += [(n, stack_id, why, io) for n in cast(list[int], events)]
    space.put(
        "stack_of",
        pa.table(
            {
                "n": pa.array([i[0] for i in ids], pa.int64()),
                "stack_id": pa.array([i[1] for i in ids], pa.int64()),
                "reason": pa.array([i[2] for i in ids], pa.string()),
                "io": pa.array([i[3] for i in ids], pa.bool_()),
            }
        ),
    )
