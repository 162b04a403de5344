-- title: Uninterruptible waits
-- question: What did threads wait for inside the kernel in the chosen time?
-- report: waits
-- draws: narrowed
-- place: 240
-- needs: waits
-- By when they began.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column reason: class of the wait, from its kernel stack, text
-- column syscall: call that the thread was in; NULL outside any, text
-- column waits: waits that began, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column io_ns: of the durations, what the kernel itself counts as I/O wait, ns
SELECT
    greatest(least((w.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    w.reason,
    w.syscall,
    count(*) AS waits,
    CAST(sum(w.dur_ns) AS BIGINT) AS total_ns,
    max(w.dur_ns) AS max_ns,
    CAST(sum(CASE WHEN w.io THEN w.dur_ns ELSE 0 END) AS BIGINT) AS io_ns
FROM waits w
CROSS JOIN chart_cells c
GROUP BY greatest(least((w.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), w.reason, w.syscall
ORDER BY total_ns DESC, w.reason, w.syscall, at_s
