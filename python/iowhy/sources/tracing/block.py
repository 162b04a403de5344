"""Block requests from the block layer's events, as ftrace, perf, blktrace and Perfetto tell them.

Input is the table `block_events`: n (order), ts_ns, tid, comm, kind (queue, insert, issue, requeue, complete,
merge), dev, rwbs, bytes, sector, error. A request's events are those of one device and first sector, up to
its completion; an insert without an issue was merged into another request.
Letters of rwbs: blk_fill_rwbs (kernel/trace/blktrace.c).
"""

from __future__ import annotations

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace

COLUMNS = (
    "n BIGINT, ts_ns BIGINT, tid BIGINT, comm VARCHAR, kind VARCHAR, dev BIGINT, rwbs VARCHAR, "
    "bytes BIGINT, sector BIGINT, error BIGINT"
)

_OPERATION = """CASE WHEN letters.op = 'W' THEN 'write' WHEN letters.op = 'R' THEN 'read'
    WHEN letters.op = 'F' THEN 'flush' WHEN letters.op IN ('D', 'DE') THEN 'discard'
    WHEN starts_with(letters.op, 'Z') THEN 'zone' ELSE 'other' END"""


def requests(space: Workspace, parsed: Parsed) -> None:
    """Fill `block_requests` of the recording from `block_events`."""
    if not space.count("block_events"):
        return
    space.run("""CREATE TABLE block_steps AS
        SELECT *, CASE WHEN letters.op = 'F' OR (bytes = 0 AND letters.pre = 'F') THEN -1 ELSE sector
            END AS place
        FROM (SELECT *, regexp_extract(rwbs, '^(F?)(W|DE|D|F|R|ZRA|ZR|ZO|ZC|ZF|Z|N)(F?)(A?)(S?)(M?)',
                ['pre', 'op', 'fua', 'ahead', 'sync', 'meta']) AS letters
            FROM block_events
            WHERE kind IN ('queue', 'insert', 'issue', 'requeue', 'complete') AND dev IS NOT NULL)""")
    # A request's events follow each other on its place. A new one begins behind a completion, and with a
    # new beginning behind an issue whose completion was not seen.
    space.run("""CREATE TABLE block_turns AS
        SELECT *, sum(CASE WHEN before = 'complete'
                OR (before = 'issue' AND kind IN ('queue', 'insert', 'issue')) THEN 1 ELSE 0 END)
            OVER (PARTITION BY dev, place ORDER BY ts_ns, n) AS turn
        FROM (SELECT *, lag(kind) OVER (PARTITION BY dev, place ORDER BY ts_ns, n) AS before
            FROM block_steps)""")
    issued = space.rows("SELECT count(*) FROM block_steps WHERE kind = 'issue'")[0][0]
    # Devices without requests (bio-based) and traces of Q and C alone: the bio stands for it.
    last = "issue" if issued else "queue"
    kernel = "regexp_matches(comm, '^(kworker|jbd2/|xfsaild|swapper|kswapd|<idle>)')"
    parsed.tables["block_requests"] = space.table(
        "block_requests",
        f"""SELECT queue_ns, issue_ns, complete_ns, dev,
            CASE WHEN place < 0 THEN NULL ELSE sector END AS sector, bytes,
            {_OPERATION} AS op,
            list_filter([CASE WHEN letters.sync = 'S' THEN 'sync' END,
                CASE WHEN letters.meta = 'M' THEN 'metadata' END,
                CASE WHEN letters.fua = 'F' THEN 'fua' END,
                CASE WHEN letters.pre = 'F' AND letters.op <> 'F' THEN 'preflush' END,
                CASE WHEN letters.ahead = 'A' THEN 'readahead' END], lambda f: f IS NOT NULL) AS flags,
            tid AS tgid, tid,
            CASE WHEN letters.op = 'F' THEN 'flush' WHEN starts_with(comm, 'jbd2/') THEN 'journal'
                WHEN letters.meta = 'M' THEN 'metadata' ELSE 'unknown' END AS owner_kind,
            CASE WHEN {kernel} THEN NULL ELSE true END AS in_scope,
            CASE WHEN complete_ns IS NULL THEN NULL ELSE coalesce(error, 0) END AS error
        FROM (SELECT dev, place, turn, min(ts_ns) AS queue_ns,
            max(ts_ns) FILTER (kind = 'issue') AS issue_ns,
            max(ts_ns) FILTER (kind = 'complete') AS complete_ns,
            arg_max(bytes, n) FILTER (kind = '{last}') AS bytes,
            arg_max(sector, n) FILTER (kind = '{last}') AS sector,
            arg_max(letters, n) FILTER (kind = '{last}') AS letters,
            arg_min(tid, n) FILTER (kind <> 'complete') AS tid,
            arg_min(comm, n) FILTER (kind <> 'complete') AS comm,
            max(error) FILTER (kind = 'complete') AS error
            FROM block_turns GROUP BY dev, place, turn HAVING bool_or(kind = '{last}'))""",
    )
    if not issued:
        parsed.note(
            "block requests are counted where they were queued: the trace has no issue events"
        )
