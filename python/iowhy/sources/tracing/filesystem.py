"""Writeback, journal and allocation events (include/trace/events/writeback.h, jbd2.h, ext4.h).

Input is the table `filesystem`: n (order), ts_ns, tid, name, comm, dev, ino, word (the reason of writeback), raw, and
v0 to v6: wrote, age · of balance_dirty_pages pause, dirty, limit · of ext4_allocate_blocks lblk, block, len · of jbd2's
transaction, wait, locked, flushing, logging, handle_count, blocks_logged.
"""

from __future__ import annotations

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace


def fill(space: Workspace, parsed: Parsed, *, ticks: bool) -> None:
    """Fill writeback, dirty_throttle, journal_commits and allocations; `ticks`: jbd2's times are no milliseconds."""
    seen = {str(row[0]) for row in space.rows("SELECT DISTINCT name FROM filesystem")}
    if not seen:
        return
    space.run("""CREATE TABLE layer AS SELECT f.*, coalesce(t.tgid, f.tid) AS tgid
        FROM filesystem f LEFT JOIN tids t USING (tid)""")
    if "writeback_single_inode" in seen:
        _writeback(space, parsed)
    if "balance_dirty_pages" in seen:
        _throttle(space, parsed)
    if seen & {"jbd2_end_commit", "jbd2_run_stats"}:
        _journal(space, parsed, ticks)
    if "ext4_allocate_blocks" in seen:
        _allocations(space, parsed)


def _writeback(space: Workspace, parsed: Parsed) -> None:
    parsed.tables["writeback"] = space.table(
        "writeback",
        """SELECT p.ts_ns, p.ts_ns - s.ts_ns AS dur_ns, p.tgid, p.tid, p.dev, p.ino,
            CASE WHEN p.comm NOT LIKE 'kworker%' AND p.comm NOT LIKE 'flush-%' THEN 'fsync'
                ELSE coalesce(w.word, 'unknown') END AS reason,
            p.v0 AS pages_written, p.v1 * 1000000000 AS dirtied_age_ns
        FROM (SELECT * FROM layer WHERE name = 'writeback_single_inode') p
        ASOF LEFT JOIN (SELECT * FROM layer WHERE name = 'writeback_single_inode_start') s
            ON s.tid = p.tid AND s.dev = p.dev AND s.ino = p.ino AND s.n <= p.n
        ASOF LEFT JOIN (SELECT * FROM layer WHERE name IN ('writeback_start', 'writeback_exec')) w
            ON w.tid = p.tid AND w.n <= p.n""",
    )


def _throttle(space: Workspace, parsed: Parsed) -> None:
    # Pauses stand in milliseconds.
    parsed.tables["dirty_throttle"] = space.table(
        "dirty_throttle",
        """SELECT ts_ns, tgid, tid, v0 * 1000000 AS pause_ns, v1 AS dirty_pages, v2 AS limit_pages
        FROM layer WHERE name = 'balance_dirty_pages' AND v0 > 0""",
    )


def _journal(space: Workspace, parsed: Parsed, ticks: bool) -> None:
    # perf that cannot compute the print format shows the raw fields: dev=7340032 tid=577 wait=0x1; its
    # times, and trace-cmd's, are ticks of an unknown length.
    known = f"FILTER (name = 'jbd2_run_stats' AND raw = 0 AND NOT {ticks}) * 1000000"
    parsed.tables["journal_commits"] = space.table(
        "journal_commits",
        f"""SELECT coalesce(min(ts_ns) FILTER (name IN ('jbd2_start_commit', 'jbd2_commit_locking')),
                max(ts_ns)) AS ts_ns,
            max(ts_ns) FILTER (name = 'jbd2_end_commit')
                - min(ts_ns) FILTER (name IN ('jbd2_start_commit', 'jbd2_commit_locking')) AS dur_ns,
            dev, 'jbd2' AS kind, v0 AS transaction, max(v1) {known} AS wait_ns, max(v2) {known} AS locked_ns,
            max(v3) {known} AS flushing_ns, max(v4) {known} AS logging_ns,
            max(v5) AS handles, max(v6) AS blocks
        FROM layer WHERE starts_with(name, 'jbd2_') GROUP BY dev, v0""",
    )


def _allocations(space: Workspace, parsed: Parsed) -> None:
    parsed.tables["allocations"] = space.table(
        "allocations",
        """SELECT ts_ns, tgid, tid, dev, ino, v0 AS logical_block, v1 AS physical_block, v2 AS blocks
        FROM layer WHERE name = 'ext4_allocate_blocks'""",
    )
