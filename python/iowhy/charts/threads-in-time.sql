-- title: Threads
-- question: What did each thread do with the chosen time?
-- report: threads
-- draws: narrowed
-- place: 230
-- needs: thread_time
-- The hundred threads with most time that is not sleep, by the intervals in which they were read.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column thread: name and id of the thread, text
-- column cpu_user_ns: on a CPU outside the kernel, ns
-- column cpu_kernel_ns: on a CPU inside the kernel, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, ns
WITH heaviest AS (
    SELECT tgid, tid
    FROM thread_rows
    GROUP BY tgid, tid
    ORDER BY sum(user_ns + kernel_ns + recorder_ns + runnable_ns + blocked_ns) DESC, tid
    LIMIT 100
)
SELECT
    greatest(least((t.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    coalesce(max(n.comm) || ' ', '') || CAST(t.tid AS VARCHAR) AS thread,
    CAST(sum(t.user_ns) AS BIGINT) AS cpu_user_ns,
    CAST(sum(t.kernel_ns + t.recorder_ns) AS BIGINT) AS cpu_kernel_ns,
    CAST(sum(t.runnable_ns) AS BIGINT) AS runnable_ns,
    CAST(sum(t.blocked_ns) AS BIGINT) AS blocked_ns,
    CAST(sum(t.sleeping_ns) AS BIGINT) AS sleeping_ns
FROM thread_rows t
CROSS JOIN chart_cells c
JOIN heaviest h ON h.tgid = t.tgid AND h.tid = t.tid
LEFT JOIN named_threads n ON n.tgid = t.tgid AND n.tid = t.tid
GROUP BY greatest(least((t.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), t.tgid, t.tid
ORDER BY sum(t.user_ns + t.kernel_ns + t.recorder_ns + t.runnable_ns + t.blocked_ns) DESC, thread, at_s
