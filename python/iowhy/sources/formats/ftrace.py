"""Events in ftrace's text: the `trace` file of tracefs, `trace-cmd report`, atrace and systrace.

Layout: Documentation/trace/ftrace.rst, trace-cmd-report(1). The process id in brackets (record-tgid) and the
latency letters may be missing; trace-cmd pads the event's name and prints some events its own way.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import IO

from iowhy.sources.format import Block, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import events, splitter
from iowhy.sources.tracing.workspace import ON_DISK_FROM_BYTES, Workspace, space_for

NAME = "ftrace"
TRACE_CMD = "trace-cmd report"
HINT = r"^# tracer: |^cpus=\d|^CPU:\d+ \[|^.{1,40}-\d+ .{0,50} \d+\.\d{3,9}: +\w"

#: comm, tid, tgid, cpu (with brackets, or with -l before the letters), seconds, fraction, event, its text.
EVENT = (
    r"^\s*(.*?)-(\d+)\s+(?:\(\s*([\d-]+)\)\s+)?(?:\[(\d+)\]\s+(?:[^\s\d:]\S{3,5}\s+|\.{4,5}\s+|\d\S{3,4}\s+)?"
    r"|(\d+)[.\w]{4,6}\s+)(\d+)\.(\d+):\s+(\w+)(:| ->|\()\s*(.*?)\s*$"
)
OTHER = r"^\s*$|^\s*#|^cpus=|^CPU:\d+ \[|^\s*[0-9a-f]{8,} |^\s*=> |^version = |^trace-cmd|^TRACE:|^capturing trace|<stack trace>"
SURE = 0.85
BEGINS = "# tracer:|cpus="
NEAR = (rf"^# tracer:|^cpus=|{EVENT}", 1)


def read(block: Block) -> Parsed:
    """Events in a paste."""
    tool = _tool(line.encode() for line in block.lines[:3])
    parsed = _parsed(tool)
    with Workspace(on_disk=False) as space:
        split = splitter.from_lines(NAME, block.lines, block.first_line, block.source, parsed)
        return events.finish(space, split, parsed, block.names, ticks=tool == TRACE_CMD)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Events in a file of any size."""
    with path.open("rb") as file:
        tool = _tool(file.read(4096).splitlines()[:3])
    parsed = _parsed(tool)
    with space_for(path) as space:
        split = splitter.from_path(NAME, path, parsed, progress)
        return events.finish(space, split, parsed, names, ticks=tool == TRACE_CMD)


def from_file(file: IO[bytes], source: str, tool: str, names: Names, progress: Progress) -> Parsed:
    """Events of ftrace's text that another format holds."""
    parsed = _parsed(tool)
    with Workspace(on_disk=file.seek(0, 2) > ON_DISK_FROM_BYTES) as space:
        split = splitter.from_file(NAME, file, source, parsed, progress)
        return events.finish(space, split, parsed, names)


def _tool(first: Iterable[bytes]) -> str:
    return TRACE_CMD if any(line.startswith(b"cpus=") for line in first) else NAME


def _parsed(tool: str) -> Parsed:
    return Parsed(tool, clock="boot", units="times in s")
