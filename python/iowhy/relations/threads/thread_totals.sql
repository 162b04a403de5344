-- title: One thread's time by state
-- uses: thread_time
-- column tgid: process, id
-- column tid: thread, id
-- column lifetime_ns: time that its intervals cover, ns
-- column cpu_ns: on a CPU; NULL if not known, ns
-- column cpu_user_ns: of it, outside the kernel, or anywhere if not distinguished, ns
-- column cpu_kernel_ns: of it, inside the kernel; NULL if not distinguished, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, stopped or traced, ns
SELECT
    tgid,
    tid,
    sum(interval_ns) AS lifetime_ns,
    CASE WHEN count(cpu_user_ns) + count(cpu_kernel_ns) > 0
        THEN coalesce(sum(cpu_user_ns), 0) + coalesce(sum(cpu_kernel_ns), 0) END AS cpu_ns,
    sum(cpu_user_ns) AS cpu_user_ns,
    sum(cpu_kernel_ns) AS cpu_kernel_ns,
    sum(runnable_ns) AS runnable_ns,
    sum(blocked_ns) AS blocked_ns,
    sum(sleeping_ns) AS sleeping_ns
FROM thread_time
GROUP BY tgid, tid
