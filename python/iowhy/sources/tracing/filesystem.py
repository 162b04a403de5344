"""Writeback, journal and allocation events (include/trace/events/writeback.h, jbd2.h, ext4.h)."""

from __future__ import annotations

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace


def fill(space: Workspace, parsed: Parsed) -> None:
    """Fill writeback, dirty_throttle, journal_commits and allocations from `events`."""
    _writeback(space, parsed)
    _throttle(space, parsed)
    _journal(space, parsed)
    _allocations(space, parsed)


def _number(name: str, kind: str = "BIGINT") -> str:
    return f"TRY_CAST(regexp_extract(args, '(?:^|[ :]){name}[= ](-?\\d+)', 1) AS {kind})"


#: "bdi 8:0: ino=..." names the device of the writeback, "dev 8,0 ino ..." that of the filesystem.
_DEV = """TRY_CAST(regexp_extract(args, '^(?:bdi|dev)[ =](\\d+)[:,](\\d+)', 1) AS BIGINT) << 20
    | TRY_CAST(regexp_extract(args, '^(?:bdi|dev)[ =](\\d+)[:,](\\d+)', 2) AS BIGINT)"""


def _writeback(space: Workspace, parsed: Parsed) -> None:
    if not _any(space, "writeback_single_inode"):
        return
    space.run(f"""CREATE TABLE passes AS
        SELECT n, ts_ns, tid, coalesce(tgid, tid) AS tgid, comm, name, {_DEV} AS dev,
            {_number("ino")} AS ino, {_number("wrote")} AS wrote, {_number("age")} AS age,
            regexp_extract(args, 'reason=(\\w+)', 1) AS reason
        FROM events WHERE name IN ('writeback_single_inode', 'writeback_single_inode_start',
            'writeback_start', 'writeback_exec')""")
    parsed.tables["writeback"] = space.table(
        "writeback",
        """SELECT p.ts_ns, p.ts_ns - s.ts_ns AS dur_ns, p.tgid, p.tid, p.dev, p.ino,
            CASE WHEN p.comm NOT LIKE 'kworker%' AND p.comm NOT LIKE 'flush-%' THEN 'fsync'
                ELSE coalesce(w.reason, 'unknown') END AS reason,
            p.wrote AS pages_written, p.age * 1000000000 AS dirtied_age_ns
        FROM (SELECT * FROM passes WHERE name = 'writeback_single_inode') p
        ASOF LEFT JOIN (SELECT * FROM passes WHERE name = 'writeback_single_inode_start') s
            ON s.tid = p.tid AND s.dev = p.dev AND s.ino = p.ino AND s.n <= p.n
        ASOF LEFT JOIN (SELECT * FROM passes WHERE name IN ('writeback_start', 'writeback_exec')) w
            ON w.tid = p.tid AND w.n <= p.n""",
    )


def _throttle(space: Workspace, parsed: Parsed) -> None:
    if not _any(space, "balance_dirty_pages"):
        return
    # Pauses stand in milliseconds.
    parsed.tables["dirty_throttle"] = space.table(
        "dirty_throttle",
        f"""SELECT ts_ns, coalesce(tgid, tid) AS tgid, tid, {_number("pause")} * 1000000 AS pause_ns,
            {_number("dirty")} AS dirty_pages, {_number("limit")} AS limit_pages
        FROM events WHERE name = 'balance_dirty_pages' AND {_number("pause")} > 0""",
    )


def _journal(space: Workspace, parsed: Parsed) -> None:
    if not (_any(space, "jbd2_end_commit") or _any(space, "jbd2_run_stats")):
        return
    # perf that cannot compute the print format shows the raw fields: dev=7340032 tid=577 wait=0x1; its
    # times, and trace-cmd's, are ticks of an unknown length.
    space.run(f"""CREATE TABLE commits AS
        SELECT n, ts_ns, name, coalesce({_DEV}, {_number("dev")}) AS dev,
            coalesce({_number("transaction")}, {_number("tid")}) AS transaction,
            contains(args, '=0x') OR ticks AS ticks,
            {_number("wait")} AS wait, {_number("locked")} AS locked, {_number("flushing")} AS flushing,
            {_number("logging")} AS logging, {_number("handle_count")} AS handles,
            {_number("blocks_logged")} AS blocks
        FROM (SELECT *, (SELECT ticks FROM dialect) AS ticks FROM events WHERE starts_with(name, 'jbd2_'))""")
    known = "FILTER (name = 'jbd2_run_stats' AND NOT ticks) * 1000000"
    parsed.tables["journal_commits"] = space.table(
        "journal_commits",
        f"""SELECT coalesce(min(ts_ns) FILTER (name IN ('jbd2_start_commit', 'jbd2_commit_locking')),
                max(ts_ns)) AS ts_ns,
            max(ts_ns) FILTER (name = 'jbd2_end_commit')
                - min(ts_ns) FILTER (name IN ('jbd2_start_commit', 'jbd2_commit_locking')) AS dur_ns,
            dev, 'jbd2' AS kind, transaction, max(wait) {known} AS wait_ns, max(locked) {known} AS locked_ns,
            max(flushing) {known} AS flushing_ns, max(logging) {known} AS logging_ns,
            max(handles) AS handles, max(blocks) AS blocks
        FROM commits GROUP BY dev, transaction""",
    )


def _allocations(space: Workspace, parsed: Parsed) -> None:
    if not _any(space, "ext4_allocate_blocks"):
        return
    parsed.tables["allocations"] = space.table(
        "allocations",
        f"""SELECT ts_ns, coalesce(tgid, tid) AS tgid, tid, {_DEV} AS dev, {_number("ino")} AS ino,
            {_number("lblk")} AS logical_block, {_number("block")} AS physical_block,
            {_number("len")} AS blocks
        FROM events WHERE name = 'ext4_allocate_blocks'""",
    )


def _any(space: Workspace, name: str) -> bool:
    return bool(space.rows(f"SELECT count(*) FROM events WHERE name = '{name}'")[0][0])
