"""Events in ftrace's text: the `trace` file of tracefs, `trace-cmd report`, atrace and systrace.

Layout: Documentation/trace/ftrace.rst, trace-cmd-report(1). The process id in brackets (record-tgid) and the
latency letters may be missing; trace-cmd pads the event's name and prints some events its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import events
from iowhy.sources.tracing import lines as text
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "ftrace"
TOOL = "ftrace"
HINT = r"^# tracer: |^cpus=\d|^CPU:\d+ \[|^.{1,40}-\d+ .{0,50} \d+\.\d{3,9}: +\w"

#: comm, tid, tgid, cpu (with brackets, or with -l before the letters), seconds, fraction, event, its text.
EVENT = (
    r"^\s*(.*?)-(\d+)\s+(?:\(\s*([\d-]+)\)\s+)?(?:\[(\d+)\]\s+(?:[^\s\d:]\S{3,5}\s+|\.{4,5}\s+|\d\S{3,4}\s+)?"
    r"|(\d+)[.\w]{4,6}\s+)(\d+)\.(\d+):\s+(\w+)(:| ->|\()\s*(.*?)\s*$"
)
FIELDS = "['comm', 'tid', 'tgid', 'cpu', 'cpu2', 's', 'f', 'name', 'mark', 'args']"
_OTHER = r"^\s*$|^\s*#|^cpus=|^CPU:\d+ \[|^\s*[0-9a-f]{8,} |^\s*=> |^version = |^trace-cmd|^TRACE:|^capturing trace|<stack trace>"
_LINE = re.compile(EVENT)


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The file's header, or a line of an event."""
    line = lines[at][:4096]
    if line.startswith(("# tracer:", "cpus=")):
        return Claim(0.9)
    return Claim(0.85, again=True) if _LINE.match(line) else None


def sniff_head(head: bytes) -> float | None:
    """The file's header, or events in the first lines."""
    sample = head.decode("utf-8", errors="replace").splitlines()[:-1][:300]
    if any(line.startswith("# tracer:") for line in sample[:20]):
        return 0.95
    other = re.compile(_OTHER)
    hits = sum(_LINE.match(line[:4096]) is not None for line in sample)
    rest = sum(other.match(line) is not None for line in sample)
    return 0.9 if hits and hits + rest >= 0.8 * len(sample) else None


def read(block: Block) -> Parsed:
    """Events in a paste."""
    trace_cmd = any(line.startswith("cpus=") for line in block.lines[:3])
    with Workspace(on_disk=False) as space:
        return parse(space, text.whole(block), "trace-cmd report" if trace_cmd else TOOL)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:  # noqa: ARG001
    """Events in a file of any size."""
    with path.open("rb") as file:
        trace_cmd = any(line.startswith(b"cpus=") for line in file.read(4096).splitlines()[:3])
    with space_for(path) as space:
        return parse(
            space, text.from_path(path, progress), "trace-cmd report" if trace_cmd else TOOL
        )


def parse(space: Workspace, chunks: Iterator[pa.Table], tool: str) -> Parsed:
    """Events of ftrace's text, chunk by chunk."""
    parsed = Parsed(tool, clock="boot", units="times in s")
    events.prepare(space, ticks=tool == "trace-cmd report")
    # "sys_write(fd: 1, ...)" and "sys_write -> 0x10" are how ftrace prints the syscalls events.
    name = """CASE WHEN e.mark = '(' AND starts_with(e.name, 'sys_') THEN
            regexp_replace(e.name, '^sys_', 'sys_enter_')
        WHEN e.mark = ' ->' AND starts_with(e.name, 'sys_') THEN
            regexp_replace(e.name, '^sys_', 'sys_exit_') ELSE e.name END"""
    total = text.each(
        chunks,
        space,
        [
            f"""CREATE OR REPLACE TEMP TABLE split AS SELECT n, line, e, {name} AS name FROM
                (SELECT n, line, regexp_extract(line, '{EVENT}', {FIELDS}) AS e FROM chunk)""",
            f"""INSERT INTO events SELECT n, TRY_CAST(e.s AS BIGINT) * 1000000000
                    + TRY_CAST(rpad(left(e.f, 9), 9, '0') AS BIGINT), TRY_CAST(e.tid AS BIGINT),
                TRY_CAST(e.tgid AS BIGINT), e.comm,
                TRY_CAST(coalesce(nullif(e.cpu, ''), e.cpu2) AS BIGINT), name,
                CASE WHEN e.mark = '(' AND starts_with(name, 'sys_enter_') THEN
                    regexp_replace(e.args, '(: )([0-9a-f]+)', '\\10x\\2', 'g') ELSE e.args END
                FROM split WHERE name <> '' AND length(e.s) < 10 AND {events.known("name")}""",
            f"INSERT INTO others SELECT name, count(*) FROM split WHERE name <> '' "
            f"AND NOT {events.known('name')} GROUP BY 1",
            f"""INSERT INTO rejects SELECT n, line FROM split
                WHERE name = '' AND NOT regexp_matches(line, '{_OTHER}')""",
        ],
    )
    return events.finish(space, parsed, total)
