-- title: Threads
-- question: What did each thread do with the chosen time?
-- report: threads
-- draws: narrowed
-- place: 230
-- needs: thread_time
-- The sixty threads with most time that is not sleep, each interval in which they were read spread evenly.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column comm: name of the thread, text
-- column tid: thread, id
-- column cpu_user_ns: on a CPU outside the kernel, ns
-- column cpu_kernel_ns: on a CPU inside the kernel, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, ns
WITH heaviest AS (
    SELECT tgid, tid
    FROM thread_intervals
    GROUP BY tgid, tid
    ORDER BY sum(user_ns + kernel_ns + recorder_ns + runnable_ns + blocked_ns) DESC, tid
    LIMIT 60
)
SELECT
    p.cell * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    max(n.comm) AS comm,
    t.tid,
    CAST(round(sum(t.user_ns * p.part)) AS BIGINT) AS cpu_user_ns,
    CAST(round(sum((t.kernel_ns + t.recorder_ns) * p.part)) AS BIGINT) AS cpu_kernel_ns,
    CAST(round(sum(t.runnable_ns * p.part)) AS BIGINT) AS runnable_ns,
    CAST(round(sum(t.blocked_ns * p.part)) AS BIGINT) AS blocked_ns,
    CAST(round(sum(t.sleeping_ns * p.part)) AS BIGINT) AS sleeping_ns
FROM thread_intervals t
JOIN thread_chart_cells p ON p.row_id = t.row_id
CROSS JOIN chart_cells c
JOIN heaviest h ON h.tgid = t.tgid AND h.tid = t.tid
LEFT JOIN named_threads n ON n.tgid = t.tgid AND n.tid = t.tid
GROUP BY p.cell, t.tgid, t.tid
ORDER BY sum(t.user_ns + t.kernel_ns + t.recorder_ns + t.runnable_ns + t.blocked_ns) DESC, t.tid, at_s
