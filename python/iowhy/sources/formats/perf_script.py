"""Tracepoint events printed by `perf script`, with or without call stacks.

Layout: perf-script(1), default fields (comm, tid, cpu, time, event, trace) and those of -F with pid.
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

NAME = "perf-script"
TOOL = "perf script"
HINT = r"\.\d{3,9}: +(?:\d+ +)?\w+:\w+:"

#: comm, pid/tid or tid, cpu, latency flags, seconds, fraction, period, event, its text.
_EVENT = (
    r"^\s*(\S.*?)\s+(?:(-?\d+)/)?(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:[.\w]{4,6}\s+)?(\d+)\.(\d+):\s+(?:\d+\s+)?"
    r"([a-z_]\w*):(\w+):\s?(.*?)\s*$"
)
_FIELDS = "['comm', 'pid', 'tid', 'cpu', 's', 'f', 'system', 'name', 'args']"
_FRAME = r"^\s+[0-9a-f]+ \S.*|^\s*$|^#"
#: A kernel function of a call stack, without its offset; user space ends the part that is kept.
_SYMBOL = r"^\s+[0-9a-f]+ ([^\s+]+)\S* \((?:\[|/.*(?:vmlinux|\.ko))"
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
    with Workspace(on_disk=False) as space:
        return _parse(space, text.whole(block))


def stream(path: Path, names: Names, progress: Progress) -> Parsed:  # noqa: ARG001
    """Events in a file of any size."""
    with space_for(path) as space:
        return _parse(space, text.from_path(path, progress))


def _parse(space: Workspace, chunks: Iterator[pa.Table]) -> Parsed:
    parsed = Parsed(TOOL, clock="boot", units="times in s")
    events.prepare(space)
    total = text.each(
        chunks,
        space,
        [
            f"""CREATE OR REPLACE TEMP TABLE split AS SELECT n, line,
                regexp_extract(line, '{_EVENT}', {_FIELDS}) AS e FROM chunk""",
            f"""INSERT INTO events SELECT n, TRY_CAST(e.s AS BIGINT) * 1000000000
                    + TRY_CAST(rpad(left(e.f, 9), 9, '0') AS BIGINT), TRY_CAST(e.tid AS BIGINT),
                TRY_CAST(e.pid AS BIGINT), e.comm, TRY_CAST(e.cpu AS BIGINT), e.name, e.args
                FROM split WHERE e.name <> '' AND length(e.s) < 10 AND {events.known("e.name")}""",
            f"INSERT INTO others SELECT e.name, count(*) FROM split WHERE e.name <> '' "
            f"AND NOT {events.known('e.name')} GROUP BY 1",
            f"""INSERT INTO rejects SELECT n, line FROM split
                WHERE e.name = '' AND NOT regexp_matches(line, '{_FRAME}')""",
            f"""INSERT INTO frames SELECT head,
                    list(regexp_extract(line, '{_SYMBOL}', 1) ORDER BY n)
                FROM (SELECT n, line, e.name AS name,
                    last_value(CASE WHEN e.name <> '' THEN n END IGNORE NULLS) OVER up AS head,
                    last_value(nullif(e.name, '') IGNORE NULLS) OVER up AS event
                    FROM split WINDOW up AS (ORDER BY n))
                WHERE event = 'sched_switch' AND name = '' AND regexp_matches(line, '{_SYMBOL}')
                GROUP BY head""",
            """INSERT INTO headers SELECT n, left(line, 200) FROM split WHERE starts_with(line, '# ')""",
        ],
    )
    return events.finish(space, parsed, total)
