-- title: One thread's time by state in one interval, whole
-- uses: thread_time
-- kept: table
-- What was not reported of a state is in unseen_ns; rows of one thread and time are taken as one.
-- column row_id: number of the interval, number
-- column tid: thread, id
-- column ts_ns: start, ns
-- column end_ns: end, ns
-- column tgid: process, id
-- column user_ns: on a CPU outside the kernel, or anywhere if not distinguished, ns
-- column kernel_ns: on a CPU inside the kernel, without recorder_ns, ns
-- column recorder_ns: on a CPU inside the kernel for the recorder itself; 0 where that was not measured, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, ns
-- column unseen_ns: the rest of the interval, ns
-- column calls_ns: of the time on a CPU, inside system calls; NULL if not distinguished, ns
-- column reclaim_ns: of the time on a CPU, freeing memory itself; NULL where that was not seen, ns
-- column waits_ns: of sleeping_ns, for other threads of the command; 0 where that was not seen, ns
-- column waited_ns: of the time that it did not sleep, while others waited for it, ns
-- column waited_runnable_ns: of waited_ns, ready and waiting for a CPU, ns
-- column waited_blocked_ns: of waited_ns, in uninterruptible sleep, ns
-- column knows_blocked: false where blocked_ns was not reported, bool
-- column knows_sleeping: false where sleeping_ns was not reported, bool
SELECT
    row_number() OVER (ORDER BY tid, ts_ns) AS row_id,
    tid, ts_ns, end_ns, tgid, user_ns, in_kernel_ns - recorder_ns AS kernel_ns, recorder_ns, runnable_ns, blocked_ns,
    sleeping_ns,
    greatest(end_ns - ts_ns - user_ns - in_kernel_ns - runnable_ns - blocked_ns - sleeping_ns, 0)
        AS unseen_ns,
    calls_ns, reclaim_ns, waits_ns, waited_ns, waited_runnable_ns, waited_blocked_ns,
    knows_blocked,
    knows_sleeping
FROM (
    SELECT
        tid,
        ts_ns,
        ts_ns + max(interval_ns) AS end_ns,
        max(tgid) AS tgid,
        CAST(sum(greatest(coalesce(cpu_user_ns, 0), 0)) AS BIGINT) AS user_ns,
        CAST(sum(greatest(coalesce(cpu_kernel_ns, 0), 0)) AS BIGINT) AS in_kernel_ns,
        CAST(sum(least(greatest(coalesce(cpu_recorder_ns, 0), 0), greatest(coalesce(cpu_kernel_ns, 0), 0))) AS BIGINT)
            AS recorder_ns,
        CAST(sum(greatest(coalesce(runnable_ns, 0), 0)) AS BIGINT) AS runnable_ns,
        CAST(sum(greatest(coalesce(blocked_ns, 0), 0)) AS BIGINT) AS blocked_ns,
        CAST(sum(greatest(coalesce(sleeping_ns, 0), 0)) AS BIGINT) AS sleeping_ns,
        CAST(sum(CASE WHEN cpu_calls_ns >= 0 THEN cpu_calls_ns END) AS BIGINT) AS calls_ns,
        CAST(sum(CASE WHEN cpu_reclaim_ns >= 0 THEN cpu_reclaim_ns END) AS BIGINT) AS reclaim_ns,
        CAST(sum(greatest(coalesce(waits_ns, 0), 0)) AS BIGINT) AS waits_ns,
        CAST(sum(greatest(coalesce(waited_ns, 0), 0)) AS BIGINT) AS waited_ns,
        CAST(sum(greatest(coalesce(waited_runnable_ns, 0), 0)) AS BIGINT) AS waited_runnable_ns,
        CAST(sum(greatest(coalesce(waited_blocked_ns, 0), 0)) AS BIGINT) AS waited_blocked_ns,
        count(blocked_ns) > 0 AS knows_blocked,
        count(sleeping_ns) > 0 AS knows_sleeping
    FROM thread_time
    WHERE interval_ns > 0
    GROUP BY tid, ts_ns
) AS t
