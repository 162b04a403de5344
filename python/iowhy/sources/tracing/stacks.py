"""Kernel stacks of other tools, judged by the recorder's rules (iowhy/tables/reasons.toml)."""

import numpy as np

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace
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


def judge(space: Workspace, parsed: Parsed, used: str) -> None:
    """Keep the stacks whose numbers `used` (SQL) gives, and make `judged`: number, stack_id, reason, whether it is I/O.

    A stack is a string of its functions, the innermost first, one a line; each is looked at once.
    """
    found = space.rows(f"SELECT number, text FROM strings WHERE number IN ({used}) ORDER BY number")
    reasons, io = [], []
    for stack_id, (_, text) in enumerate(found, 1):
        frames = str(text).split("\n")
        while frames and frames[0].startswith(_SWITCH):
            frames.pop(0)
        frames = frames[:FRAMES_MAX]
        parsed.add("stacks", {"stack_id": stack_id, "frames": frames})
        reasons.append(reason(frames))
        io.append(not IO_WAITS.isdisjoint(frames))
    space.run(
        "CREATE OR REPLACE TABLE judged (number BIGINT, stack_id BIGINT, reason VARCHAR, io BOOLEAN)"
    )
    if found:
        numbers = np.array([number for number, _ in found], np.int64)
        ids = np.arange(1, len(found) + 1)
        columns = {
            "number": numbers,
            "stack_id": ids,
            "reason": np.array(reasons, object),
            "io": np.array(io),
        }
        space.put("judged", columns)
