-- title: Threads
-- question: What did each thread do with the chosen time?
-- report: threads
-- draws: narrowed
-- place: 230
-- needs: thread_time
-- heaviest: 60 by sum(cpu_user_ns + cpu_kernel_ns + runnable_ns + blocked_ns) DESC
-- The sixty threads with most time that is not sleep, each interval in which they were read spread evenly.
-- column comm: name of the thread, text
-- column tid: thread, id
-- column cpu_user_ns: on a CPU outside the kernel, ns
-- column cpu_kernel_ns: on a CPU inside the kernel, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column blocked_ns: in uninterruptible sleep, ns
-- column sleeping_ns: in interruptible sleep, ns
SELECT
    c.start_ns + p.cell * c.cell_ns AS ts_ns,
    n.comm,
    t.tid,
    t.user_ns * p.part AS cpu_user_ns,
    (t.kernel_ns + t.recorder_ns) * p.part AS cpu_kernel_ns,
    t.runnable_ns * p.part AS runnable_ns,
    t.blocked_ns * p.part AS blocked_ns,
    t.sleeping_ns * p.part AS sleeping_ns
FROM thread_intervals t
JOIN thread_chart_cells p ON p.row_id = t.row_id
CROSS JOIN chart_cells c
LEFT JOIN named_threads n ON n.tgid = t.tgid AND n.tid = t.tid
