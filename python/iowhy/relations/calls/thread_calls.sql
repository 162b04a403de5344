-- title: The system calls, or operations of io_uring and libaio, of one name by one thread
-- uses: call_kinds, calls_by_filesystem, syscall_totals
-- kept: table
-- I/O calls are kept one by one. All other calls come from the totals per thread and interval, so
-- that a call counted there and kept here is not counted twice.
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call; io_uring or libaio and the operation, text
-- column single: they were kept one by one, else they are totals, bool
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
-- column cpu_of_ns: durations of those calls of which it is known how long they were on a CPU, ns
-- column runnable_ns: of the durations, ready and waiting for a CPU, ns
-- column blocked_ns: of the durations, in uninterruptible sleep, ns
-- column sleeping_ns: of the durations, in interruptible sleep, ns
-- column bytes: bytes moved by reads, writes and copies; bytes asked of msync, bytes
-- column moving: calls that moved or asked for some, count
-- column unfinished: calls that had not returned when the recording ended, count
WITH single AS (
    SELECT
        s.tgid,
        s.tid,
        s.name,
        sum(s.calls) AS calls,
        sum(s.errors) AS errors,
        sum(s.total_ns) AS total_ns,
        max(s.max_ns) AS max_ns,
        sum(s.cpu_ns) AS cpu_ns,
        sum(s.cpu_of_ns) AS cpu_of_ns,
        sum(s.runnable_ns) AS runnable_ns,
        sum(s.blocked_ns) AS blocked_ns,
        sum(s.sleeping_ns) AS sleeping_ns,
        sum(CASE WHEN k.kind IN ('read', 'write', 'copy') THEN s.done_bytes WHEN s.name = 'msync' THEN s.synced_bytes END)
            AS bytes,
        sum(CASE WHEN k.kind IN ('read', 'write', 'copy') THEN s.moving WHEN s.name = 'msync' THEN s.syncing ELSE 0 END)
            AS moving,
        sum(s.unfinished) AS unfinished
    FROM calls_by_filesystem s
    LEFT JOIN call_kinds k ON k.name = s.name
    GROUP BY s.tgid, s.tid, s.name
)
SELECT
    tgid, tid, name, true AS single, calls, errors, total_ns, max_ns, cpu_ns, cpu_of_ns, runnable_ns,
    blocked_ns, sleeping_ns, bytes, moving, unfinished
FROM single
UNION ALL
SELECT
    tgid, tid, name, false, sum(calls), sum(errors), sum(total_ns), max(max_ns), sum(cpu_ns),
    sum(CASE WHEN cpu_ns IS NOT NULL THEN total_ns END), NULL, NULL, NULL, NULL, NULL, NULL
FROM syscall_totals
WHERE name NOT IN (SELECT name FROM single)
GROUP BY tgid, tid, name
