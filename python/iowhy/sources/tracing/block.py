"""Block requests from the block layer's events, as ftrace, perf, blktrace and Perfetto tell them.

Input is the table `block_events`: n (order), ts_ns, tid, comm, kind, dev, rwbs, bytes, sector, error. Kinds
are insert, issue, requeue and complete of requests, queue and end of bios. A request's events are those of
one device and first sector, up to its completion; an insert without an issue was merged into another.
Devices that take bios without making requests of them (zram, dm) have no issues: there a bio counts.
Letters of rwbs: blk_fill_rwbs (kernel/trace/blktrace.c).
"""

from __future__ import annotations

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.sched import KERNEL_THREADS
from iowhy.sources.tracing.workspace import Workspace

COLUMNS = (
    "n BIGINT, ts_ns BIGINT, tid BIGINT, comm VARCHAR, kind VARCHAR, dev BIGINT, rwbs VARCHAR, "
    "bytes BIGINT, sector BIGINT, error BIGINT"
)

_OPERATION = """CASE WHEN place < 0 THEN 'flush' WHEN letters.op = 'W' THEN 'write' WHEN letters.op = 'R' THEN 'read'
    WHEN letters.op IN ('D', 'DE') THEN 'discard'
    WHEN starts_with(letters.op, 'Z') THEN 'zone' ELSE 'other' END"""


def requests(space: Workspace, parsed: Parsed) -> None:
    """Fill `block_requests` of the recording from `block_events`, and `scope` (tid)."""
    if not space.count("block_events"):
        return
    space.run("""CREATE TABLE block_devs AS SELECT dev, bool_or(kind = 'issue') AS requests,
        bool_or(kind IN ('end', 'complete')) AS ends FROM block_events GROUP BY dev""")
    # A partition's bios end on the disk that they were mapped to: nothing ends on it, nothing is of it.
    space.run("""CREATE TABLE block_steps AS
        SELECT n, ts_ns, tid, comm, dev, rwbs, bytes, sector, error, letters,
            CASE kind WHEN 'queue' THEN 'issue' WHEN 'end' THEN 'complete' ELSE kind END AS kind,
            CASE WHEN letters.op = 'F' OR (bytes = 0 AND letters.pre = 'F') THEN -1 ELSE sector END
                AS place
        FROM (SELECT *, regexp_extract(rwbs, '^(F?)(W|DE|D|F|R|ZRA|ZR|ZO|ZC|ZF|Z|N)(F?)(A?)(S?)(M?)',
                ['pre', 'op', 'fua', 'ahead', 'sync', 'meta']) AS letters
            FROM block_events JOIN block_devs USING (dev)
            WHERE kind IN ('insert', 'issue', 'requeue', 'complete') AND requests
                OR kind IN ('queue', 'end', 'complete') AND NOT requests AND ends)""")
    # A request's events follow each other on its place. A new one begins behind a completion, and with a
    # new beginning behind an issue whose completion was not seen.
    space.run("""CREATE TABLE block_turns AS
        SELECT *, sum(CASE WHEN before = 'complete'
                OR (before = 'issue' AND kind IN ('insert', 'issue')) THEN 1 ELSE 0 END)
            OVER (PARTITION BY dev, place ORDER BY ts_ns, n) AS turn
        FROM (SELECT *, lag(kind) OVER (PARTITION BY dev, place ORDER BY ts_ns, n) AS before
            FROM block_steps)""")
    kernel = f"regexp_matches(comm, '{KERNEL_THREADS}')"
    parsed.tables["block_requests"] = space.table(
        "block_requests",
        f"""SELECT queue_ns, issue_ns, complete_ns, dev,
            CASE WHEN place < 0 THEN NULL ELSE sector END AS sector, bytes,
            {_OPERATION} AS op,
            list_filter([CASE WHEN letters.sync = 'S' THEN 'sync' END,
                CASE WHEN letters.meta = 'M' THEN 'metadata' END,
                CASE WHEN letters.fua = 'F' THEN 'fua' END,
                CASE WHEN letters.pre = 'F' AND place >= 0 THEN 'preflush' END,
                CASE WHEN letters.ahead = 'A' THEN 'readahead' END], lambda f: f IS NOT NULL) AS flags,
            tid AS tgid, tid,
            CASE WHEN place < 0 THEN 'flush' WHEN starts_with(comm, 'jbd2/') THEN 'journal'
                WHEN letters.meta = 'M' THEN 'metadata' ELSE 'unknown' END AS owner_kind,
            CASE WHEN tid IN (SELECT tid FROM scope) THEN true WHEN {kernel} THEN NULL ELSE false END
                AS in_scope,
            CASE WHEN complete_ns IS NULL THEN NULL ELSE coalesce(error, 0) END AS error
        FROM (SELECT dev, place, turn, min(ts_ns) AS queue_ns,
            max(ts_ns) FILTER (kind = 'issue') AS issue_ns,
            max(ts_ns) FILTER (kind = 'complete') AS complete_ns,
            arg_max(bytes, n) FILTER (kind = 'issue') AS bytes,
            arg_max(sector, n) FILTER (kind = 'issue') AS sector,
            arg_max(letters, n) FILTER (kind = 'issue') AS letters,
            arg_min(tid, n) FILTER (kind <> 'complete') AS tid,
            arg_min(comm, n) FILTER (kind <> 'complete') AS comm,
            max(error) FILTER (kind = 'complete') AS error
            FROM block_turns GROUP BY dev, place, turn HAVING bool_or(kind = 'issue'))""",
    )
