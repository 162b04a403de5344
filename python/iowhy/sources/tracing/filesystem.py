"""Writeback, journal and allocation events (include/trace/events/writeback.h, jbd2.h, ext4.h).

Input are the tables writeback_events, throttles, journal_events and allocation_events (logs/src/output/rows.rs).
"""

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace

#: Tables that `iowhy-logs` makes of the events.
INPUTS = ("writeback_events", "throttles", "journal_events", "allocation_events")


def fill(space: Workspace, parsed: Parsed, *, ticks: bool) -> None:
    """Fill writeback, dirty_throttle, journal_commits and allocations; `ticks`: jbd2's times are no milliseconds."""
    _writeback(space, parsed)
    _throttle(space, parsed)
    _journal(space, parsed, ticks)
    _allocations(space, parsed)


def _has(space: Workspace, table: str, where: str = "true") -> bool:
    return bool(space.rows(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1"))


def _writeback(space: Workspace, parsed: Parsed) -> None:
    if not _has(space, "writeback_events", "name = 'writeback_single_inode'"):
        return
    parsed.tables["writeback"] = space.table(
        "writeback",
        """SELECT p.ts_ns, p.ts_ns - s.ts_ns AS dur_ns, coalesce(t.tgid, p.tid) AS tgid, p.tid, p.dev, p.ino,
            CASE WHEN p.comm NOT LIKE 'kworker%' AND p.comm NOT LIKE 'flush-%' THEN 'fsync'
                ELSE coalesce(w.reason, 'unknown') END AS reason,
            p.wrote_pages AS pages_written, p.age_s * 1000000000 AS dirtied_age_ns
        FROM (SELECT * FROM writeback_events WHERE name = 'writeback_single_inode') p
        ASOF LEFT JOIN (SELECT * FROM writeback_events WHERE name = 'writeback_single_inode_start') s
            ON s.tid = p.tid AND s.dev = p.dev AND s.ino = p.ino AND s.n <= p.n
        ASOF LEFT JOIN (SELECT * FROM writeback_events
                WHERE name IN ('writeback_start', 'writeback_exec')) w
            ON w.tid = p.tid AND w.n <= p.n
        LEFT JOIN tids t ON t.tid = p.tid""",
    )


def _throttle(space: Workspace, parsed: Parsed) -> None:
    if not _has(space, "throttles"):
        return
    parsed.tables["dirty_throttle"] = space.table(
        "dirty_throttle",
        """SELECT ts_ns, coalesce(tgid, tid) AS tgid, tid, pause_ms * 1000000 AS pause_ns, dirty_pages, limit_pages
        FROM throttles LEFT JOIN tids USING (tid) WHERE pause_ms > 0""",
    )


def _journal(space: Workspace, parsed: Parsed, ticks: bool) -> None:
    if not _has(space, "journal_events", "name IN ('jbd2_end_commit', 'jbd2_run_stats')"):
        return
    # perf that cannot compute the print format shows the raw fields: dev=7340032 tid=577 wait=0x1; its
    # times, and trace-cmd's, are ticks of an unknown length.
    known = f"FILTER (name = 'jbd2_run_stats' AND NOT raw AND NOT {ticks}) * 1000000"
    parsed.tables["journal_commits"] = space.table(
        "journal_commits",
        f"""SELECT coalesce(min(ts_ns) FILTER (name IN ('jbd2_start_commit', 'jbd2_commit_locking')),
                max(ts_ns)) AS ts_ns,
            max(ts_ns) FILTER (name = 'jbd2_end_commit')
                - min(ts_ns) FILTER (name IN ('jbd2_start_commit', 'jbd2_commit_locking')) AS dur_ns,
            dev, 'jbd2' AS kind, transaction, max(wait) {known} AS wait_ns, max(locked) {known} AS locked_ns,
            max(flushing) {known} AS flushing_ns, max(logging) {known} AS logging_ns,
            max(handles) AS handles, max(blocks) AS blocks
        FROM journal_events GROUP BY dev, transaction""",
    )


def _allocations(space: Workspace, parsed: Parsed) -> None:
    if not _has(space, "allocation_events"):
        return
    parsed.tables["allocations"] = space.table(
        "allocations",
        """SELECT ts_ns, coalesce(tgid, tid) AS tgid, tid, dev, ino, logical_block, physical_block, blocks
        FROM allocation_events LEFT JOIN tids USING (tid)""",
    )
