-- title: All time of all threads
-- question: Which threads spent their time on a CPU, in which calls, and waiting for what?
-- report: threads
-- draws: flame
-- place: 60
-- needs: thread_time
-- Thread, then call, then the reason of the wait; threads of one name together.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column thread: name of the threads, text
-- column class: class of the time budget, text
-- column call: call that they were in, text
-- column reason: what they waited for there, text
-- column thread_ns: time of all of them, ns
WITH cells AS (
    SELECT start_ns, cell_ns * 5 AS cell_ns, greatest((last_cell + 1) // 5 - 1, 0) AS last_cell FROM chart_cells
), located AS (
    SELECT t.row_id, t.tid, t.tgid, t.user_ns, t.kernel_ns, t.recorder_ns, t.runnable_ns,
        greatest(least((t.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) AS cell
    FROM thread_intervals t
    CROSS JOIN cells c
), parts AS (
    SELECT cell, tid, tgid, 'user' AS class, NULL AS syscall, NULL AS reason, 16 * user_ns AS parts FROM located
    UNION ALL
    SELECT cell, tid, tgid, 'kernel', NULL, NULL, 16 * kernel_ns FROM located
    UNION ALL
    SELECT cell, tid, tgid, 'recorder', NULL, NULL, 16 * recorder_ns FROM located
    UNION ALL
    SELECT cell, tid, tgid, 'runnable', NULL, NULL, 16 * runnable_ns FROM located
    UNION ALL
    SELECT l.cell, l.tid, l.tgid, o.class, o.syscall, o.reason, o.parts
    FROM off_cpu o
    JOIN located l ON l.row_id = o.row_id
), named AS (
    SELECT p.cell, coalesce(n.comm, 'name not known') AS thread, p.class, p.syscall, p.reason, sum(p.parts) AS parts
    FROM parts p
    LEFT JOIN named_threads n ON n.tgid = p.tgid AND n.tid = p.tid
    GROUP BY 1, 2, 3, 4, 5
), grid AS (
    -- Many kinds of time at once are drawn over longer cells.
    SELECT CASE
        WHEN count(*) <= 9000 THEN 1
        WHEN count(DISTINCT (cell // 4, thread, class, syscall, reason)) <= 9000 THEN 4
        ELSE 24
    END AS together
    FROM named
)
SELECT
    m.cell // g.together * g.together * max(c.cell_ns) / 1e9 AS at_s,
    g.together * max(c.cell_ns) / 1e9 AS span_s,
    m.thread,
    b.class,
    m.syscall AS call,
    m.reason,
    CAST(round(sum(m.parts) / 16) AS BIGINT) AS thread_ns
FROM named m
CROSS JOIN grid g
CROSS JOIN cells c
JOIN budget_classes b ON b.key = m.class
GROUP BY m.cell // g.together, g.together, m.thread, b.class, m.syscall, m.reason
HAVING sum(m.parts) >= 8
ORDER BY thread_ns DESC, m.thread, b.class, m.syscall, m.reason, at_s
