-- title: Synchronous writing
-- question: What did fsync-like calls cost in the chosen time?
-- report: sync
-- draws: narrowed
-- place: 241
-- needs: syscalls
-- By when they began. What a call waited for is of the whole run: `iowhy report sync --since --until`.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column name: call, text
-- column calls: calls that began, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
-- column runnable_ns: of the durations, ready and waiting for a CPU, ns
-- column blocked_ns: of the durations, in uninterruptible sleep, ns
SELECT
    greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    s.name,
    count(*) AS calls,
    CAST(sum(s.dur_ns) AS BIGINT) AS total_ns,
    max(s.dur_ns) AS max_ns,
    CAST(sum(s.cpu_ns) AS BIGINT) AS cpu_ns,
    CAST(sum(s.runnable_ns) AS BIGINT) AS runnable_ns,
    CAST(sum(s.blocked_ns) AS BIGINT) AS blocked_ns
FROM sync_calls s
CROSS JOIN chart_cells c
GROUP BY greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), s.name
ORDER BY total_ns DESC, s.name, at_s
