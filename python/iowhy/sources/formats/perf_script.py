"""Tracepoint events printed by `perf script`, with or without call stacks.

Layout: perf-script(1), default fields (comm, tid, cpu, time, event, trace) and those of -F with pid.
"""

from pathlib import Path

from iowhy.sources.format import Block, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import events, splitter
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "perf-script"
TOOL = "perf script"
#: Its name to iowhy-logs, which reads the lines (logs/src/trace).
SPLIT_AS = "perf"
HINT = r"\.\d{3,9}: +(?:\d+ +)?\w+:\w+:"

#: comm, pid/tid or tid, cpu, latency flags, time, period, event, its text.
EVENT = (
    r"^\s*(\S.*?)\s+(?:(-?\d+)/)?(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:[.\w]{4,6}\s+)?(\d+)\.(\d+):\s+(?:\d+\s+)?"
    r"([a-z_]\w*):(\w+):\s?(.*?)\s*$"
)
OTHER = r"^\s+[0-9a-f]+ \S.*|^\s*$|^#"


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
