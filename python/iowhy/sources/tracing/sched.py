"""Threads' states from scheduler events, exactly: running, runnable, blocked, sleeping.

A thread runs from the switch to it until the switch away, which tells why it left (prev_state of
include/trace/events/sched.h: R or R+ runnable, D blocked, else asleep); from its wake-up on it is runnable. With
system call events each piece of time also knows the call that it was in.
"""

from __future__ import annotations

from iowhy.sources.format import Parsed
from iowhy.sources.tracing import stacks
from iowhy.sources.tracing.workspace import Workspace

#: Live recordings' totals and thread times are of one second too.
INTERVAL_NS = 1_000_000_000

#: Names of kernel threads that take part in I/O, and the idle one.
KERNEL_THREADS = (
    "^(kworker|ksoftirqd|jbd2/|kswapd|xfsaild|btrfs-|loop[0-9]|rcu|migration|<idle>|swapper)"
)


def interval(column: str, table: str) -> str:
    """SQL: ts_ns and interval_ns of the second that `column` is in, as far as the trace goes."""
    slot = f"{column} // {INTERVAL_NS} * {INTERVAL_NS}"
    ends = f"(SELECT max({column}) FROM {table})"
    return f"""greatest({slot}, (SELECT min({column}) FROM {table})) AS ts_ns,
        greatest(1, least({slot} + {INTERVAL_NS}, {ends}) - greatest({slot},
            (SELECT min({column}) FROM {table}))) AS interval_ns"""


def states(space: Workspace, parsed: Parsed) -> None:
    """Fill thread_time, waits, syscalls and syscall_totals, from `events` and `calls`."""
    _moments(space)
    seen = space.rows("""SELECT count(*) FILTER (what = 'in'), count(*) FILTER (what = 'out'),
        count(*) FILTER (what = 'wake') FROM moments""")[0]
    switches = bool(seen[0]) and bool(seen[1])
    if switches:
        _segments(space)
        if not seen[2]:
            parsed.note(
                "without sched_waking or sched_wakeup events, waits include the wait for a CPU"
            )
        _thread_time(space, parsed)
        _waits(space, parsed)
    elif seen[1]:
        parsed.note(
            "only one side of context switches was recorded: record with -a for thread states"
        )
        parsed.missing.append("perf record -a -e 'sched:*'")
    _calls(space, parsed, switches)


def _moments(space: Workspace) -> None:
    """Every event that changes a thread's state or call: tid, ts_ns, n, what, state, call (n of its enter)."""
    space.run("""CREATE TABLE switches AS
        SELECT n, ts_ns, TRY_CAST(a.prev AS BIGINT) AS prev, a.state AS state,
            TRY_CAST(a.next AS BIGINT) AS next, a.prev_comm AS prev_comm, a.next_comm AS next_comm
        FROM (SELECT n, ts_ns, CASE WHEN contains(args, 'prev_pid=') THEN regexp_extract(args,
            'prev_comm=(.*) prev_pid=(\\d+) .*prev_state=(\\S+)(?: \\|\\S+)* ==> next_comm=(.*) next_pid=(\\d+)',
            ['prev_comm', 'prev', 'state', 'next_comm', 'next'])
            ELSE regexp_extract(args, '^(.*):(\\d+) \\[-?\\d+\\] (\\S+) ==> (.*):(\\d+) \\[',
            ['prev_comm', 'prev', 'state', 'next_comm', 'next']) END AS a
            FROM events WHERE name = 'sched_switch')""")
    # trace-cmd's own form of a wake-up is "comm:pid [prio] ..."; perf and ftrace print "comm=... pid=...".
    space.run("""CREATE TABLE wakes AS
        SELECT n, ts_ns, TRY_CAST(CASE WHEN contains(args, 'pid=') THEN regexp_extract(args, ' pid=(\\d+)', 1)
            ELSE regexp_extract(args, ':(\\d+) \\[-?\\d+\\]', 1) END AS BIGINT) AS tid
        FROM events WHERE name IN ('sched_waking', 'sched_wakeup', 'sched_wakeup_new')""")
    space.run("""CREATE TABLE moments AS
        SELECT next AS tid, ts_ns, n, 'in' AS what, NULL AS state, NULL::BIGINT AS call FROM switches
        UNION ALL SELECT prev, ts_ns, n, 'out', state, NULL FROM switches
        UNION ALL SELECT tid, ts_ns, n, 'wake', NULL, NULL FROM wakes
        UNION ALL SELECT tid, ts_ns, n, 'enter', NULL, n FROM calls
        UNION ALL SELECT tid, ts_ns + dur_ns, exit_n, 'exit', NULL, NULL FROM calls WHERE exit_n IS NOT NULL""")
    space.run("DELETE FROM moments WHERE tid IS NULL OR tid = 0")


def _segments(space: Workspace) -> None:
    """Pieces of a thread's time without a change: tid, ts_ns, end_ns, class, call."""
    space.run("""CREATE TABLE segments AS
        SELECT tid, ts_ns, coalesce(next_ns, CASE WHEN regexp_matches(left_in, '^[XZx]') AND run = 'out'
                THEN ts_ns ELSE (SELECT max(ts_ns) FROM events) END) AS end_ns, last_out,
            CASE WHEN run = 'in' THEN 'cpu' WHEN run IS NULL THEN
                CASE WHEN waked IS NOT NULL THEN 'runnable' WHEN call_edge IS NOT NULL THEN 'cpu' END
                WHEN waked > last_out THEN 'runnable'
                WHEN starts_with(left_in, 'R') THEN 'runnable'
                WHEN starts_with(left_in, 'D') THEN 'blocked' ELSE 'sleeping' END AS class,
            CASE WHEN edge = 'enter' THEN in_call END AS call
        FROM (SELECT *, lead(ts_ns) OVER mine AS next_ns,
            last_value(CASE WHEN what IN ('in', 'out') THEN what END IGNORE NULLS) OVER mine AS run,
            last_value(state IGNORE NULLS) OVER mine AS left_in,
            max(place) FILTER (what = 'out') OVER mine AS last_out,
            max(place) FILTER (what = 'wake') OVER mine AS waked,
            max(place) FILTER (what IN ('enter', 'exit')) OVER mine AS call_edge,
            last_value(CASE WHEN what IN ('enter', 'exit') THEN what END IGNORE NULLS) OVER mine AS edge,
            last_value(call IGNORE NULLS) OVER mine AS in_call
            FROM (SELECT *,
                row_number() OVER (PARTITION BY tid ORDER BY ts_ns, n) AS place FROM moments)
            WINDOW mine AS (PARTITION BY tid ORDER BY place))""")
    space.run("DELETE FROM segments WHERE class IS NULL OR end_ns < ts_ns")


def _thread_time(space: Workspace, parsed: Parsed) -> None:
    has_calls = bool(space.count("calls"))
    user = kernel = "NULL"
    if has_calls:
        kernel = "coalesce(sum(part) FILTER (class = 'cpu' AND call IS NOT NULL), 0)"
        user = "coalesce(sum(part) FILTER (class = 'cpu' AND call IS NULL), 0)"
    space.run(f"""CREATE TABLE pieces AS
        SELECT tid, class, call, slot, least(end_ns, (slot + 1) * {INTERVAL_NS})
            - greatest(ts_ns, slot * {INTERVAL_NS}) AS part,
            greatest(ts_ns, slot * {INTERVAL_NS}) AS ts_ns
        FROM (SELECT *, unnest(range(ts_ns // {INTERVAL_NS}, (end_ns - 1) // {INTERVAL_NS} + 1)) AS slot
            FROM segments WHERE end_ns > ts_ns)""")
    parsed.tables["thread_time"] = space.table(
        "thread_time",
        f"""SELECT min(p.ts_ns) AS ts_ns, sum(part) AS interval_ns, coalesce(any_value(t.tgid), p.tid) AS tgid,
            p.tid, {user} AS cpu_user_ns, {kernel} AS cpu_kernel_ns,
            coalesce(sum(part) FILTER (class = 'runnable'), 0) AS runnable_ns,
            coalesce(sum(part) FILTER (class = 'blocked'), 0) AS blocked_ns,
            coalesce(sum(part) FILTER (class = 'sleeping'), 0) AS sleeping_ns
        FROM pieces p LEFT JOIN (SELECT tid, max(tgid) AS tgid FROM events GROUP BY tid) t USING (tid)
        WHERE p.tid IN (SELECT tid FROM scope) GROUP BY p.tid, slot""",
    )


def _waits(space: Workspace, parsed: Parsed) -> None:
    """Each stretch of state D, to the wake-up.

    Why it waited is told by the switch's kernel stack (perf record -g), or by sched_blocked_reason (Android).
    """
    space.run("""CREATE TABLE reasons AS SELECT ts_ns,
            TRY_CAST(regexp_extract(args, 'pid=(\\d+)', 1) AS BIGINT) AS tid,
            contains(args, 'iowait=1') OR contains(args, 'io_wait=1') AS io,
            regexp_extract(args, 'caller=([\\w.]+)', 1) AS caller
        FROM events WHERE name = 'sched_blocked_reason'""")
    stacks.judge(space, parsed)
    if not space.count("reasons") and not space.count("stack_of"):
        parsed.note("the trace does not tell which waits are I/O waits, nor their reasons")
        parsed.missing.append("perf record -a -g -e 'sched:sched_switch,sched:sched_waking'")
    parsed.tables["waits"] = space.table(
        "waits",
        """SELECT w.ts_ns, w.end_ns - w.ts_ns AS dur_ns, coalesce(c.tgid, w.tid) AS tgid, w.tid,
            coalesce(k.reason, nullif(r.caller, ''), 'unknown') AS reason,
            coalesce(k.io, r.io, false) AS io, k.stack_id, c.name AS syscall
        FROM (SELECT tid, min(ts_ns) AS ts_ns, max(end_ns) AS end_ns, max(call) AS call
            FROM segments WHERE class = 'blocked' GROUP BY tid, last_out) w
        LEFT JOIN calls c ON c.n = w.call
        LEFT JOIN (SELECT s.prev, s.ts_ns, any_value(stack_id) AS stack_id, any_value(reason) AS reason,
                any_value(io) AS io
            FROM switches s JOIN stack_of USING (n) GROUP BY ALL) k
            ON k.prev = w.tid AND k.ts_ns = w.ts_ns
        ASOF LEFT JOIN reasons r ON r.tid = w.tid AND r.ts_ns >= w.end_ns
        WHERE w.tid IN (SELECT tid FROM scope)""",
    )


def _calls(space: Workspace, parsed: Parsed, switches: bool) -> None:
    if not space.count("calls"):
        return
    if switches:
        space.run("""CREATE TABLE split AS SELECT call AS n,
                coalesce(sum(end_ns - ts_ns) FILTER (class = 'cpu'), 0) AS cpu_ns,
                coalesce(sum(end_ns - ts_ns) FILTER (class = 'runnable'), 0) AS runnable_ns,
                coalesce(sum(end_ns - ts_ns) FILTER (class = 'blocked'), 0) AS blocked_ns,
                coalesce(sum(end_ns - ts_ns) FILTER (class = 'sleeping'), 0) AS sleeping_ns
            FROM segments WHERE call IS NOT NULL GROUP BY call""")
    else:
        space.run(
            "CREATE TABLE split (n BIGINT, cpu_ns BIGINT, runnable_ns BIGINT, "
            "blocked_ns BIGINT, sleeping_ns BIGINT)"
        )
    last = "(SELECT max(ts_ns) FROM events)"
    parsed.tables["syscalls"] = space.table(
        "syscalls",
        f"""SELECT ts_ns, coalesce(dur_ns, {last} - ts_ns) AS dur_ns, cpu_ns, runnable_ns, blocked_ns,
            sleeping_ns, tgid, tid, name, fd, bytes, "offset", ret
        FROM calls LEFT JOIN split USING (n) WHERE io""",
    )
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT {interval("ts_ns", "events")}, tgid, tid, name, count(*) AS calls, count(*) FILTER (ret BETWEEN -4095 AND -1) AS errors,
            sum(dur_ns) AS total_ns, max(dur_ns) AS max_ns,
            CASE WHEN count(cpu_ns) = count(*) THEN sum(cpu_ns) END AS cpu_ns
        FROM calls LEFT JOIN split USING (n) WHERE dur_ns IS NOT NULL GROUP BY ALL""",
    )
