"""Kernel trace events as text, whoever printed them, into the tables of a recording.

Input is the table `events`: n (order), ts_ns, tid, tgid (NULL: unknown), comm, cpu, name, args. `args` is
the event's text as its print format gives it (/sys/kernel/tracing/events/*/*/format). Each layer has
its module; this one makes their inputs, and names threads.
"""

from __future__ import annotations

from typing import cast

import pyarrow as pa

from iowhy.sources.format import Parsed
from iowhy.sources.tracing import block, cache, filesystem, lines, sched, syscalls
from iowhy.sources.tracing.workspace import Workspace

COLUMNS = (
    "n BIGINT, ts_ns BIGINT, tid BIGINT, tgid BIGINT, comm VARCHAR, cpu BIGINT, name VARCHAR, "
    "args VARCHAR"
)

#: Events that tell something here; others are counted and named.
KNOWN = (
    "block_bio_queue", "block_io_start", "block_getrq", "block_rq_insert", "block_rq_issue",
    "block_rq_requeue", "block_rq_complete", "block_bio_complete", "sched_switch", "sched_waking",
    "sched_wakeup", "sched_wakeup_new", "sched_process_fork", "sched_process_exit",
    "sched_blocked_reason", "sched_stat_iowait", "task_newtask", "sys_enter", "sys_exit",
    "writeback_single_inode_start", "writeback_single_inode", "writeback_start",
    "writeback_exec", "writeback_dirty_folio", "writeback_dirty_page", "balance_dirty_pages",
    "jbd2_start_commit", "jbd2_commit_locking", "jbd2_end_commit", "jbd2_run_stats",
    "ext4_allocate_blocks", "mm_filemap_get_pages", "mm_filemap_add_to_page_cache",
    "mm_filemap_delete_from_page_cache",
)  # fmt: skip


def known(name: str) -> str:
    """SQL: is `name` one of the events read here, a named system call's included?"""
    names = ", ".join(f"'{one}'" for one in KNOWN)
    return f"({name} IN ({names}) OR regexp_matches({name}, '^sys_(enter|exit)_'))"


def fill(space: Workspace, parsed: Parsed, machine: str | None = None) -> None:
    """All tables that `events` tells. `machine` (uname -m) gives system calls their names."""
    syscalls.calls(space, machine)
    _scope(space)
    _blocks(space)
    block.requests(space, parsed)
    sched.states(space, parsed)
    filesystem.fill(space, parsed)
    cache.fill(space, parsed)
    _threads(space, parsed)


def _scope(space: Workspace) -> None:
    """`scope` (tid): whose time and requests count. Traces are of a whole machine as a rule: without the kernel's
    own threads, and, where system calls are traced, of those that made some."""
    calls = "SELECT DISTINCT tid FROM calls"
    users = f"""SELECT DISTINCT tid FROM (SELECT tid, comm FROM events UNION ALL
            SELECT TRY_CAST(regexp_extract(args, 'next_pid=(\\d+)', 1) AS BIGINT),
                regexp_extract(args, 'next_comm=(.*) next_pid', 1) FROM events WHERE name = 'sched_switch')
        WHERE tid > 0 AND NOT regexp_matches(coalesce(comm, ''), '{sched.KERNEL_THREADS}')"""
    space.run(f"CREATE TABLE scope AS {calls if space.count('calls') else users}")


def _blocks(space: Workspace) -> None:
    kinds = {
        "block_bio_queue": "queue",
        "block_io_start": "insert",
        "block_getrq": "queue",
        "block_rq_insert": "insert",
        "block_rq_issue": "issue",
        "block_rq_requeue": "requeue",
        "block_rq_complete": "complete",
        "block_bio_complete": "end",
    }
    cases = " ".join(f"WHEN '{name}' THEN '{kind}'" for name, kind in kinds.items())
    names = ", ".join(f"'{name}'" for name in kinds)
    space.run(f"""CREATE TABLE block_events AS
        SELECT n, ts_ns, tid, comm, CASE name {cases} END AS kind,
            TRY_CAST(a.major AS BIGINT) << 20 | TRY_CAST(a.minor AS BIGINT) AS dev, a.rwbs AS rwbs,
            coalesce(TRY_CAST(a.bytes AS BIGINT), TRY_CAST(a.sectors AS BIGINT) * 512) AS bytes,
            TRY_CAST(a.sector AS BIGINT) AS sector,
            abs(TRY_CAST(a.rest AS BIGINT)) AS error
        FROM (SELECT *, regexp_extract(args,
            '^(\\d+),(\\d+) (\\w+) (?:(\\d+) )?(?:\\([^)]*\\) )?(\\d+) \\+ (\\d+)(?: [^ ]*,\\d+,\\d+)? \\[(.*)\\]',
            ['major', 'minor', 'rwbs', 'bytes', 'sector', 'sectors', 'rest']) AS a
            FROM events WHERE name IN ({names}))
        WHERE a.major <> ''""")


def _threads(space: Workspace, parsed: Parsed) -> None:
    """Every thread seen, with its last name, and its life as far as the trace shows it."""
    space.run("""CREATE TABLE lives AS
        SELECT tid, max(tgid) AS tgid, arg_max(comm, ts_ns) FILTER (comm NOT IN ('', '<...>')) AS comm,
            min(ts_ns) AS start_ns, max(ts_ns) FILTER (name = 'sched_process_exit') AS end_ns
        FROM (SELECT tid, tgid, comm, ts_ns, name FROM events
            UNION ALL SELECT next, NULL, next_comm, ts_ns, '' FROM switches
            UNION ALL SELECT prev, NULL, prev_comm, ts_ns, '' FROM switches)
        WHERE tid > 0 GROUP BY tid""")
    parents = cast(
        list[tuple[int, int]],
        space.rows("""SELECT TRY_CAST(regexp_extract(args, 'child_pid=(\\d+)', 1) AS BIGINT) AS child, tid
            FROM events WHERE name = 'sched_process_fork' AND child IS NOT NULL"""),
    )
    space.put(
        "mothers",
        pa.table(
            {
                "tid": pa.array([c for c, _ in parents], pa.int64()),
                "ppid": pa.array([p for _, p in parents], pa.int64()),
            }
        ),
    )
    parsed.tables["threads"] = space.table(
        "threads",
        """SELECT l.tid, coalesce(l.tgid, l.tid) AS tgid, m.ppid, coalesce(l.comm, '?') AS comm, l.start_ns, l.end_ns
        FROM lives l LEFT JOIN (SELECT tid, max(ppid) AS ppid FROM mothers GROUP BY tid) m
        USING (tid)""",
    )


def prepare(space: Workspace, *, ticks: bool = False) -> None:
    """Empty tables for a text format's reader: events, others, rejects, headers, frames, dialect.

    `frames` (n, frames) holds the kernel stacks of switches, innermost first, by the event's number.

    `ticks`: the printer leaves jiffies_to_msecs() away, so durations of jbd2 are ticks.
    """
    space.run(f"CREATE TABLE events ({COLUMNS})")
    space.run("CREATE TABLE others (name VARCHAR, count BIGINT)")
    space.run("CREATE TABLE rejects (n BIGINT, line VARCHAR)")
    space.run("CREATE TABLE frames (n BIGINT, frames VARCHAR[])")
    space.run("CREATE TABLE headers (n BIGINT, line VARCHAR)")
    space.run(f"CREATE TABLE dialect AS SELECT {str(ticks).lower()} AS ticks")


def finish(space: Workspace, parsed: Parsed, total: int) -> Parsed:
    """Take over what the reader filled in; `total` lines were read."""
    lines.reject(parsed, space, "rejects", total)
    if not space.count("events"):
        # Nothing of use: say so instead of taking the text for understood.
        parsed.lines_understood = 0
        return parsed
    machine = None
    for _, line in space.rows("SELECT n, line FROM headers ORDER BY n LIMIT 100"):
        key, _, value = str(line).lstrip("# ").partition(" : ")
        told = {"arch": "machine", "os release": "kernel", "hostname": "name"}.get(key.strip())
        if told:
            parsed.host[told] = value.strip()
        if key.strip() == "nrcpus online" and value.strip().isdigit():
            parsed.host["cpus"] = int(value)
        if key.strip() == "arch":
            machine = value.strip()
    others(space, parsed)
    fill(space, parsed, machine)
    return parsed


def others(space: Workspace, parsed: Parsed) -> None:
    """Note the events of `others` (name, count), which are known but tell nothing here."""
    found = space.rows("SELECT name, sum(count) FROM others GROUP BY 1 ORDER BY 2 DESC, 1")
    if found:
        shown = ", ".join(str(name) for name, _ in found[:5])
        count = sum(int(str(n)) for _, n in found)
        parsed.note(f"{count:,} events not used: {shown}" + (", …" if len(found) > 5 else ""))
