"""Block requests from the block layer's events, as ftrace, perf, blktrace and Perfetto print them.

Input is the table `block_events`: n (order), ts_ns, tid, comm, kind, dev, rwbs, bytes, sector, error. Kinds
are insert, issue, requeue and complete of requests, queue and end of bios. A request's events are those of
one device and first sector, up to its completion; an insert without an issue was merged into another.
Devices that take bios without making requests of them (zram, dm) have no issues: there a bio counts.
Letters of rwbs: blk_fill_rwbs (kernel/trace/blktrace.c).
"""

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace

#: Names of kernel threads that take part in I/O, and the idle one.
KERNEL_THREADS = (
    "^(kworker|ksoftirqd|jbd2/|kswapd|xfsaild|btrfs-|loop[0-9]|rcu|migration|<idle>|swapper)"
)

COLUMNS = (
    "n BIGINT, ts_ns BIGINT, tid BIGINT, comm VARCHAR, kind VARCHAR, dev BIGINT, rwbs VARCHAR, "
    "bytes BIGINT, sector BIGINT, error BIGINT"
)

#: What the letters of rwbs say; there are few of them, so they are taken apart once each.
_KINDS = """CREATE TABLE rwbs_kinds AS SELECT rwbs, l.pre = 'F' AS pre,
        CASE WHEN l.op = 'W' THEN 'write' WHEN l.op = 'R' THEN 'read' WHEN l.op IN ('D', 'DE') THEN 'discard'
            WHEN starts_with(l.op, 'Z') THEN 'zone' ELSE 'other' END AS op,
        l.meta = 'M' AS meta, l.op = 'F' AS flush,
        list_filter([CASE WHEN l.sync = 'S' THEN 'sync' END, CASE WHEN l.meta = 'M' THEN 'metadata' END,
            CASE WHEN l.fua = 'F' THEN 'fua' END, CASE WHEN l.pre = 'F' THEN 'preflush' END,
            CASE WHEN l.ahead = 'A' THEN 'readahead' END], lambda f: f IS NOT NULL) AS flags
    FROM (SELECT rwbs, regexp_extract(rwbs, '^(F?)(W|DE|D|F|R|ZRA|ZR|ZO|ZC|ZF|Z|N)(F?)(A?)(S?)(M?)',
            ['pre', 'op', 'fua', 'ahead', 'sync', 'meta']) AS l
        FROM (SELECT DISTINCT rwbs FROM block_events WHERE rwbs IS NOT NULL))"""


def requests(space: Workspace, parsed: Parsed) -> None:
    """Fill `block_requests` of the recording from `block_events`, and `scope` (tid)."""
    if not space.count("block_events"):
        return
    space.run("""CREATE TABLE block_devs AS SELECT dev, bool_or(kind = 'issue') AS requests,
        bool_or(kind IN ('end', 'complete')) AS ends FROM block_events GROUP BY dev""")
    space.run(_KINDS)
    # A partition's bios end on the disk that they were mapped to: nothing ends on it, nothing is of it.
    space.run("""CREATE VIEW block_steps AS
        SELECT n, ts_ns, tid, comm, dev, rwbs, bytes, sector, error,
            CASE kind WHEN 'queue' THEN 'issue' WHEN 'end' THEN 'complete' ELSE kind END AS kind,
            CASE WHEN flush OR (bytes = 0 AND pre) THEN -1 ELSE sector END AS place
        FROM block_events JOIN block_devs USING (dev) LEFT JOIN rwbs_kinds USING (rwbs)
            WHERE kind IN ('insert', 'issue', 'requeue', 'complete') AND requests
                OR kind IN ('queue', 'end', 'complete') AND NOT requests AND ends""")
    # A request's events follow each other on its place. A new one begins behind a completion, and with a
    # new beginning behind an issue whose completion was not seen.
    space.run("""CREATE VIEW block_turns AS
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
            CASE WHEN place < 0 THEN 'flush' ELSE coalesce(op, 'other') END AS op,
            CASE WHEN place < 0 THEN list_filter(flags, lambda f: f <> 'preflush')
                ELSE coalesce(flags, []) END AS flags,
            tid AS tgid, tid,
            CASE WHEN place < 0 THEN 'flush' WHEN starts_with(comm, 'jbd2/') THEN 'journal'
                WHEN meta THEN 'metadata' ELSE 'unknown' END AS owner_kind,
            CASE WHEN tid IN (SELECT tid FROM scope) THEN true WHEN {kernel} THEN NULL ELSE false END
                AS in_scope,
            CASE WHEN complete_ns IS NULL THEN NULL ELSE coalesce(error, 0) END AS error
        FROM (SELECT dev, place, turn, min(ts_ns) AS queue_ns,
            max(ts_ns) FILTER (kind = 'issue') AS issue_ns,
            max(ts_ns) FILTER (kind = 'complete') AS complete_ns,
            arg_max(bytes, n) FILTER (kind = 'issue') AS bytes,
            arg_max(sector, n) FILTER (kind = 'issue') AS sector,
            arg_max(rwbs, n) FILTER (kind = 'issue') AS rwbs,
            arg_min(tid, n) FILTER (kind <> 'complete') AS tid,
            arg_min(comm, n) FILTER (kind <> 'complete') AS comm,
            max(error) FILTER (kind = 'complete') AS error
            FROM block_turns GROUP BY dev, place, turn HAVING bool_or(kind = 'issue'))
        LEFT JOIN rwbs_kinds USING (rwbs)""",
    )
