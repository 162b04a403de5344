-- title: Threads
-- question: What did each thread do with its time?
-- stands in for: top -H, pidstat -t
-- about: comm tid cpu_share runnable_ns blocked_ns sleeping_ns
-- column comm: name of the thread, text
-- column tgid: process, id
-- column tid: thread, id
-- column start_s: when it came into scope, after the start of the recording, s
-- column lifetime_ns: time that its intervals cover, ns
-- column cpu_share: of that time, on a CPU, share
-- column cpu_user_ns: on a CPU outside the kernel (in older recordings outside system calls), ns
-- column cpu_kernel_ns: on a CPU inside the kernel (in older recordings inside system calls), ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, stopped or traced, ns
-- column read_bytes: bytes that its read calls returned, bytes
-- column written_bytes: bytes that its write calls accepted, bytes
-- column exit_code: wait status; NULL while alive, number
-- column container: container or unit of systemd that it is in, the innermost; empty: in none, text
WITH moved AS (
    SELECT
        c.tgid,
        c.tid,
        sum(CASE WHEN k.kind IN ('read', 'copy') THEN c.bytes END) AS read_bytes,
        sum(CASE WHEN k.kind IN ('write', 'copy') THEN c.bytes END) AS written_bytes
    FROM thread_calls c
    JOIN call_kinds k ON k.name = c.name
    WHERE c.single AND k.kind IN ('read', 'write', 'copy')
    GROUP BY c.tgid, c.tid
), lives AS (
    SELECT
        tgid,
        tid,
        min(start_ns) AS start_ns,
        max(exit_code) AS exit_code,
        max(container) AS container
    FROM threads
    GROUP BY tgid, tid
), ids AS (
    SELECT tgid, tid FROM lives
    UNION
    SELECT tgid, tid FROM thread_totals
    UNION
    SELECT tgid, tid FROM moved
)
SELECT
    n.comm,
    i.tgid,
    i.tid,
    (l.start_ns - r.start_ns) / 1e9 AS start_s,
    s.lifetime_ns,
    s.cpu_ns / nullif(s.lifetime_ns, 0) AS cpu_share,
    s.cpu_user_ns,
    s.cpu_kernel_ns,
    s.runnable_ns,
    s.blocked_ns,
    s.sleeping_ns,
    CASE WHEN r.ran_syscalls THEN coalesce(m.read_bytes, 0) END AS read_bytes,
    CASE WHEN r.ran_syscalls THEN coalesce(m.written_bytes, 0) END AS written_bytes,
    l.exit_code,
    coalesce(b.container, l.container) AS container
FROM ids i
CROSS JOIN recording r
LEFT JOIN lives l ON l.tgid = i.tgid AND l.tid = i.tid
LEFT JOIN named_containers b ON b.id = l.container
LEFT JOIN named_threads n ON n.tgid = i.tgid AND n.tid = i.tid
LEFT JOIN thread_totals s ON s.tgid = i.tgid AND s.tid = i.tid
LEFT JOIN moved m ON m.tgid = i.tgid AND m.tid = i.tid
ORDER BY
    coalesce(s.cpu_ns, 0) + coalesce(s.runnable_ns, 0) + coalesce(s.blocked_ns, 0) DESC,
    i.tgid,
    i.tid
