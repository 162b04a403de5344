-- title: System calls
-- question: Which calls were made in the chosen time, and how long did they take?
-- report: syscalls
-- draws: narrowed
-- place: 200
-- needs: syscalls
-- Calls that were kept one by one, by when they began.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column name: system call, text
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
SELECT
    greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    s.name,
    count(*) AS calls,
    CAST(sum(CASE WHEN s.ret < 0 THEN 1 ELSE 0 END) AS BIGINT) AS errors,
    CAST(sum(s.dur_ns) AS BIGINT) AS total_ns,
    max(s.dur_ns) AS max_ns,
    CAST(sum(s.cpu_ns) AS BIGINT) AS cpu_ns
FROM syscalls s
CROSS JOIN chart_cells c
GROUP BY greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), s.name
ORDER BY total_ns DESC, s.name, at_s
