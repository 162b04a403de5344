"""Folded stacks of bcc's `offcputime -f` (and offwaketime's blocked side): time off the CPU per stack.

Layout: offcputime(8): `comm;outermost;…;innermost microseconds`; -d puts `-` or `--` between user and kernel frames.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed

NAME = "offcputime"
TOOL = "offcputime"
HINT = r"^[^;]{1,40};\S.*;.* \d+$"

_LINE = re.compile(r"([^;]{1,64});(.+) (\d{1,18})")
#: Functions in which a thread leaves the CPU: on-CPU profiles, folded too, have none of them on top.
_OFF = re.compile(
    r"(finish_task_switch|__schedule|schedule|schedule_timeout|io_schedule|preempt_schedule\w*)"
    r"(\.\w+)*(_\[k\]|\+0x[0-9a-f]+)?$"
)


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Folded stacks, some of which end in the scheduler."""
    near = [_LINE.fullmatch(line[:8192]) for line in lines[at : at + 5]]
    if near[0] is None:
        return None
    off = any(m is not None and _OFF.search(m[2].rsplit(";", 1)[-1]) for m in near)
    return Claim(0.9 if off else 0.5, again=True)


def read(block: Block) -> Parsed:
    """Into stacks, and measurements: microseconds off the CPU of each process and stack."""
    parsed = Parsed(TOOL, units="microseconds")
    ids: dict[tuple[str, ...], int] = {}
    for n, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text or text.startswith("WARNING"):
            continue
        match = _LINE.fullmatch(text[:65536])
        if match is None:
            parsed.reject(n, line)
            continue
        frames = tuple(
            re.sub(r"_\[k\]$", "", frame)
            for frame in reversed(match[2].split(";"))
            if frame not in ("-", "--")
        )[:128]
        if frames not in ids:
            ids[frames] = len(ids) + 1
            parsed.add("stacks", {"stack_id": ids[frames], "frames": list(frames)})
        parsed.add(
            "measurements",
            {
                "tool": TOOL,
                "subject": f"{match[1]} stack {ids[frames]}",
                "metric": "off_cpu_ns",
                "value": float(match[3]) * 1000,
            },
        )
        parsed.lines_understood += 1
    return parsed
