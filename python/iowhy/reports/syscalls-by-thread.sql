-- title: System calls by thread
-- question: Which thread made which calls, and what did they cost it?
-- stands in for: curt's per-thread part, strace -c of each thread
-- column comm: name of the thread, text
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call, text
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column share: of the durations of all calls, share
-- column mean_ns: mean duration, ns
-- column max_ns: longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
-- column runnable_ns: of the durations, ready and waiting for a CPU, ns
-- column blocked_ns: of the durations, in uninterruptible sleep, ns
-- column sleeping_ns: of the durations, in interruptible sleep, ns
-- column bytes: bytes moved by reads, writes and copies; bytes asked of msync, bytes
WITH kept AS (
    SELECT
        s.tgid,
        s.tid,
        s.name,
        count(*) AS calls,
        count(*) FILTER (WHERE s.ret < 0) AS errors,
        sum(s.dur_ns) AS total_ns,
        max(s.dur_ns) AS max_ns,
        sum(s.cpu_ns) AS cpu_ns,
        sum(s.runnable_ns) AS runnable_ns,
        sum(s.blocked_ns) AS blocked_ns,
        sum(s.sleeping_ns) AS sleeping_ns,
        sum(CASE
            WHEN k.kind IN ('read', 'write', 'copy') AND s.ret > 0 THEN s.ret
            WHEN s.name = 'msync' AND s.ret = 0 THEN s.bytes
        END) AS bytes
    FROM syscalls s
    LEFT JOIN call_kinds k ON k.name = s.name
    GROUP BY s.tgid, s.tid, s.name
), every_call AS (
    SELECT * FROM kept
    UNION ALL
    SELECT
        tgid, tid, name, sum(calls), sum(errors), sum(total_ns), max(max_ns), sum(cpu_ns),
        NULL, NULL, NULL, NULL
    FROM syscall_totals
    WHERE name NOT IN (SELECT name FROM kept)
    GROUP BY tgid, tid, name
), names AS (
    SELECT tgid, tid, max(comm) AS comm FROM threads GROUP BY tgid, tid
)
SELECT
    n.comm,
    e.tgid,
    e.tid,
    e.name,
    e.calls,
    e.errors,
    e.total_ns,
    e.total_ns / nullif(sum(e.total_ns) OVER (), 0) AS share,
    e.total_ns / nullif(e.calls, 0) AS mean_ns,
    e.max_ns,
    e.cpu_ns,
    e.runnable_ns,
    e.blocked_ns,
    e.sleeping_ns,
    e.bytes
FROM every_call e
LEFT JOIN names n ON n.tgid = e.tgid AND n.tid = e.tid
ORDER BY e.total_ns DESC, e.tgid, e.tid, e.name
