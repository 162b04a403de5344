"""Tracepoint events printed by `perf script`, with or without call stacks.

Layout: perf-script(1), default fields (comm, tid, cpu, time, event, trace) and those of -F with pid.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import events, splitter
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "perf-script"
TOOL = "perf script"
#: Its name to iowhy-logs, which reads the lines (logs/src/trace).
SPLIT_AS = "perf"
HINT = r"\.\d{3,9}: +(?:\d+ +)?\w+:\w+:"

#: comm, pid/tid or tid, cpu, latency flags, time, period, event, its text.
_EVENT = (
    r"^\s*(\S.*?)\s+(?:(-?\d+)/)?(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:[.\w]{4,6}\s+)?(\d+)\.(\d+):\s+(?:\d+\s+)?"
    r"([a-z_]\w*):(\w+):\s?(.*?)\s*$"
)
_FRAME = r"^\s+[0-9a-f]+ \S.*|^\s*$|^#"
_LINE = re.compile(_EVENT)


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A line of an event with its subsystem."""
    return Claim(0.9, again=True) if _LINE.match(lines[at][:4096]) else None


def sniff_head(head: bytes) -> float | None:
    """Events among the first lines; the rest are stacks and comments."""
    sample = head.decode("utf-8", errors="replace").splitlines()[:-1][:300]
    other = re.compile(_FRAME)
    hits = sum(_LINE.match(line[:4096]) is not None for line in sample)
    rest = sum(other.match(line) is not None for line in sample)
    return 0.95 if hits and hits + rest >= 0.8 * len(sample) else None


def read(block: Block) -> Parsed:
    """Events in a paste."""
    parsed = _parsed()
    with Workspace(on_disk=False) as space:
        split = splitter.from_lines(SPLIT_AS, block.lines, block.first_line, block.source, parsed)
        return events.finish(space, split, parsed, block.names)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Events in a file of any size."""
    parsed = _parsed()
    with space_for(path) as space:
        split = splitter.from_path(SPLIT_AS, path, parsed, progress)
        return events.finish(space, split, parsed, names)


def _parsed() -> Parsed:
    return Parsed(TOOL, clock="boot", units="times in s")
