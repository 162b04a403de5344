"""Text of `blkparse` (and `btrace`): one line per action on a block device.

Layout: blkparse(1), default format "%D %2c %8s %5T.%9t %5p %2a %3d ": device, CPU, sequence, seconds, process,
action, operation, then sector + sectors and the process name, or [error] of a completion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import block as requests
from iowhy.sources.tracing import lines as text
from iowhy.sources.tracing.block import KERNEL_THREADS
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "blkparse"
TOOL = "blkparse"
HINT = r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]"

_EVENT = (
    r"^\s*(\d+),(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\.(\d+)\s+(\d+)\s+([A-Za-z]+)\s+([A-Z]+)?\s*"
    r"(?:(\d+)\s+\+\s+(\d+)|(\d+)\s+/\s+(\d+))?(?: \((?:[\da-f ]*)\))?\s*(?:<-.*)?(?:\[(.*)\])?.*?\s*$"
)
_FIELDS = (
    "['major', 'minor', 'cpu', 'seq', 's', 'f', 'pid', 'action', 'rwbs', 'sector', 'sectors', "
    "'split', 'rest_sector', 'comm']"
)
#: The summary below the events: totals per CPU and device, rates.
_SUMMARY = (
    r"^\s*$|^(CPU ?\d+|Total|\S+) \(.*\):|^\s*(Reads|Read|Writes|Write|IO unplugs|Allocation|PC|Partial|"
    r"Timer|Merge|Zone|Dispatch)[A-Za-z ]*[: ]|^Throughput|^Events \(|^Skips:|^Input file|^\s*Writes |=== "
)
_LINE = re.compile(_EVENT)
#: Actions (blkparse(1), "ACTION IDENTIFIERS") that take part in a request's life.
ACTIONS = {"Q": "queue", "G": "queue", "I": "insert", "D": "issue", "R": "requeue", "C": "complete"}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A line of an action."""
    return Claim(0.95, again=True) if _LINE.match(lines[at][:1000]) else None


def sniff_head(head: bytes) -> float | None:
    """Most of the first lines are actions."""
    sample = head.decode("utf-8", errors="replace").splitlines()[:-1][:200]
    hits = sum(_LINE.match(line[:1000]) is not None for line in sample)
    return 0.95 if hits and hits >= 0.8 * len(sample) else None


def read(block: Block) -> Parsed:
    """Actions in a paste."""
    with Workspace(on_disk=False) as space:
        return _parse(space, text.whole(block))


def stream(path: Path, names: Names, progress: Progress) -> Parsed:  # noqa: ARG001
    """Actions in a file of any size."""
    with space_for(path) as space:
        return _parse(space, text.from_path(path, progress))


def _parse(space: Workspace, chunks: Iterator[pa.Table]) -> Parsed:
    parsed = Parsed(TOOL, units="seconds since the trace began, sectors of 512 bytes")
    space.run(f"CREATE TABLE actions ({requests.COLUMNS}, action VARCHAR)")
    space.run("CREATE TABLE rejects (n BIGINT, line VARCHAR)")
    cases = " ".join(f"WHEN '{action}' THEN '{kind}'" for action, kind in ACTIONS.items())
    total = text.each(
        chunks,
        space,
        [
            f"""CREATE OR REPLACE TEMP TABLE split AS SELECT n, line,
                regexp_extract(line, '{_EVENT}', {_FIELDS}) AS e FROM chunk""",
            f"""INSERT INTO actions SELECT n, TRY_CAST(e.s AS BIGINT) * 1000000000
                    + TRY_CAST(rpad(left(e.f, 9), 9, '0') AS BIGINT),
                TRY_CAST(e.pid AS BIGINT), e.comm, CASE e.action {cases} END,
                TRY_CAST(e.major AS BIGINT) << 20 | TRY_CAST(e.minor AS BIGINT), e.rwbs,
                coalesce(TRY_CAST(e.sectors AS BIGINT), 0) * 512,
                coalesce(TRY_CAST(e.sector AS BIGINT), 0), abs(TRY_CAST(e.comm AS BIGINT)), e.action
                FROM split WHERE e.action <> '' AND length(e.s) < 10""",
            f"""INSERT INTO rejects SELECT n, line FROM split WHERE e.action = ''
                AND NOT regexp_matches(line, '{_SUMMARY}')""",
        ],
    )
    text.reject(parsed, space, "rejects", total)
    if not space.count("actions"):
        parsed.lines_understood = 0
        return parsed
    space.run("""CREATE TABLE block_events AS SELECT * EXCLUDE (action) FROM actions
        WHERE kind IS NOT NULL AND rwbs <> ''""")
    finish(space, parsed)
    return parsed


def finish(space: Workspace, parsed: Parsed) -> None:
    """Requests and threads from `block_events`, for the text and the binary form alike."""
    space.run(f"""CREATE TABLE scope AS SELECT DISTINCT tid FROM block_events
        WHERE kind <> 'complete' AND tid > 0 AND NOT regexp_matches(coalesce(comm, ''), '{KERNEL_THREADS}')""")
    requests.requests(space, parsed)
    parsed.tables["threads"] = space.table(
        "threads",
        """SELECT tid, tid AS tgid, arg_max(comm, n) AS comm, min(ts_ns) AS start_ns FROM block_events
        WHERE kind <> 'complete' AND tid > 0 AND comm <> '' GROUP BY tid""",
    )
