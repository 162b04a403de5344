"""Threads of a trace: who they are, which of them count, where their time went and why they waited."""

from collections.abc import Mapping
from typing import cast

import numpy as np

from iowhy.sources.format import Parsed
from iowhy.sources.target import process_tree
from iowhy.sources.tracing import block, stacks
from iowhy.sources.tracing.splitter import Split
from iowhy.sources.tracing.workspace import Workspace

#: From this many processes on, a note says how to choose one.
MANY = 4


def identify(space: Workspace, split: Split, pids: frozenset[int], parsed: Parsed) -> None:
    """The recording's threads, and the work space's `tids` (tid, tgid) and `scope` (tid): the threads that count.

    In scope are `pids` and what they forked, if there are any. Traces are of a whole machine as a rule: else it is
    the threads that made system calls, where those are traced, or all but the kernel's own.
    """
    split.load(space, "threads")
    space.run("""CREATE TABLE known AS SELECT tid::BIGINT AS tid,
            CASE WHEN coalesce(tgid, 0) <> 0 THEN tgid ELSE tid END::BIGINT AS tgid, ppid::BIGINT AS ppid,
            coalesce(nullif(comm, ''), '?') AS comm, start_ns, end_ns, calls, active_ns
        FROM threads ORDER BY tid""")
    space.run("CREATE TABLE tids AS SELECT tid, tgid FROM known")
    parsed.tables["threads"] = space.table(
        "threads", "SELECT tid, tgid, ppid, comm, start_ns, end_ns FROM known"
    )
    if pids:
        rows = space.rows("SELECT tid, tgid, ppid FROM known")
        named = [
            cast(Mapping[str, object], dict(zip(("tid", "tgid", "ppid"), row, strict=True)))
            for row in rows
        ]
        mine = np.array(sorted(process_tree(named, pids)[0]), np.int64)
        space.put("mine", {"tid": mine})
        space.run("CREATE TABLE scope AS SELECT tid FROM known WHERE tid IN (SELECT tid FROM mine)")
        return
    kernel = f"regexp_matches(comm, '{block.KERNEL_THREADS}')"
    chosen = "calls > 0" if split.summary["calls"] else f"NOT {kernel}"
    space.run(f"CREATE TABLE scope AS SELECT tid FROM known WHERE {chosen}")
    _say_which(space, parsed)


def _say_which(space: Workspace, parsed: Parsed) -> None:
    """Where many processes count, those with the most time, or the most calls, as "name (number)"."""
    processes = space.rows("""SELECT tgid, coalesce(max(comm) FILTER (tid = tgid), arg_min(comm, tid))
        FROM known WHERE tid IN (SELECT tid FROM scope) GROUP BY tgid
        ORDER BY sum(CASE WHEN active_ns <> 0 THEN active_ns ELSE calls END) DESC, min(tid)""")
    if len(processes) >= MANY:
        parsed.note(
            f"the figures are those of {len(processes):,} processes in the trace; --pid PID shows one: "
            + ", ".join(f"{comm} ({tgid})" for tgid, comm in processes[:3])
        )


def times(space: Workspace, split: Split, parsed: Parsed) -> None:
    """thread_time; only calls show which part of a CPU's time is the kernel's."""
    user, kernel = ("cpu_user_ns", "cpu_kernel_ns") if split.summary["calls"] else ("NULL", "NULL")
    parsed.tables["thread_time"] = space.table(
        "thread_time",
        f"""SELECT ts_ns, cpu_user_ns + cpu_kernel_ns + runnable_ns + blocked_ns + sleeping_ns AS interval_ns,
            coalesce(tgid, r.tid) AS tgid, r.tid, {user} AS cpu_user_ns, {kernel} AS cpu_kernel_ns,
            runnable_ns, blocked_ns, sleeping_ns
        FROM {split.sql("thread_times")} r LEFT JOIN tids t ON t.tid = r.tid
        WHERE r.tid IN (SELECT tid FROM scope)""",
        in_order=True,
    )
    if not split.summary["wakes"]:
        parsed.note("without sched_waking or sched_wakeup events, waits include the wait for a CPU")


def waits(space: Workspace, split: Split, parsed: Parsed) -> None:
    """Each stretch of state D, to the wake-up; `words` of the work space name the calls.

    Why it waited the switch's kernel stack shows (perf record -g), or by sched_blocked_reason (Android).
    """
    if not split.summary["reasons"] and not split.summary["stacks"]:
        parsed.note("the trace does not say which waits are I/O waits, nor their reasons")
        parsed.missing.append("perf record -a -g -e 'sched:sched_switch,sched:sched_waking'")
    scoped = f"{split.sql('waits')} w"
    chosen = "w.tid IN (SELECT tid FROM scope)"
    stacks.judge(space, parsed, f"SELECT stack FROM {scoped} WHERE {chosen}")
    parsed.tables["waits"] = space.table(
        "waits",
        f"""SELECT ts_ns, dur_ns, coalesce(tgid, w.tid) AS tgid, w.tid,
            coalesce(j.reason, c.text, 'unknown') AS reason, coalesce(j.io, w.io, false) AS io, j.stack_id,
            o.name AS syscall
        FROM {scoped} LEFT JOIN tids t ON t.tid = w.tid LEFT JOIN judged j ON j.number = w.stack
            LEFT JOIN strings c ON c.number = w.caller LEFT JOIN words o ON o.string = w.call
        WHERE {chosen}""",
        in_order=True,
    )
