-- title: Threads
-- question: What did each thread do with its time?
-- stands in for: top -H, pidstat -t
-- column comm: name of the thread, text
-- column tgid: process, id
-- column tid: thread, id
-- column start_s: when it came into scope, after the start of the recording, s
-- column lifetime_ns: time that its intervals cover, ns
-- column cpu_share: of that time, on a CPU, share
-- column cpu_user_ns: on a CPU outside system calls, ns
-- column cpu_kernel_ns: on a CPU inside system calls, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, stopped or traced, ns
-- column read_bytes: bytes that its read calls returned, bytes
-- column written_bytes: bytes that its write calls accepted, bytes
-- column exit_code: wait status; NULL while alive, number
WITH spent AS (
    SELECT
        tgid,
        tid,
        sum(interval_ns) AS lifetime_ns,
        sum(cpu_user_ns) AS cpu_user_ns,
        sum(cpu_kernel_ns) AS cpu_kernel_ns,
        sum(runnable_ns) AS runnable_ns,
        sum(blocked_ns) AS blocked_ns,
        sum(sleeping_ns) AS sleeping_ns
    FROM thread_time
    GROUP BY tgid, tid
), moved AS (
    SELECT
        s.tgid,
        s.tid,
        sum(CASE WHEN k.kind IN ('read', 'copy') THEN s.ret END) AS read_bytes,
        sum(CASE WHEN k.kind IN ('write', 'copy') THEN s.ret END) AS written_bytes
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    WHERE s.ret > 0 AND k.kind IN ('read', 'write', 'copy')
    GROUP BY s.tgid, s.tid
), named AS (
    SELECT
        tgid,
        tid,
        max(comm) AS comm,
        min(start_ns) AS start_ns,
        max(exit_code) AS exit_code
    FROM threads
    GROUP BY tgid, tid
), ids AS (
    SELECT tgid, tid FROM named
    UNION
    SELECT tgid, tid FROM spent
    UNION
    SELECT tgid, tid FROM moved
)
SELECT
    n.comm,
    i.tgid,
    i.tid,
    (n.start_ns - r.start_ns) / 1e9 AS start_s,
    s.lifetime_ns,
    (s.cpu_user_ns + s.cpu_kernel_ns) / nullif(s.lifetime_ns, 0) AS cpu_share,
    s.cpu_user_ns,
    s.cpu_kernel_ns,
    s.runnable_ns,
    s.blocked_ns,
    s.sleeping_ns,
    CASE WHEN r.ran_syscalls THEN coalesce(m.read_bytes, 0) END AS read_bytes,
    CASE WHEN r.ran_syscalls THEN coalesce(m.written_bytes, 0) END AS written_bytes,
    n.exit_code
FROM ids i
CROSS JOIN recording r
LEFT JOIN named n ON n.tgid = i.tgid AND n.tid = i.tid
LEFT JOIN spent s ON s.tgid = i.tgid AND s.tid = i.tid
LEFT JOIN moved m ON m.tgid = i.tgid AND m.tid = i.tid
ORDER BY
    coalesce(s.cpu_user_ns, 0) + coalesce(s.cpu_kernel_ns, 0) + coalesce(s.runnable_ns, 0)
    + coalesce(s.blocked_ns, 0) DESC,
    i.tgid,
    i.tid
