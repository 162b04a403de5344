-- title: System calls
-- question: Which calls were made in the chosen time, and how long did they take?
-- report: syscalls
-- draws: narrowed
-- place: 200
-- needs: syscalls or syscall_totals
-- Calls that were kept one by one, by when they began; the others by the intervals in which they were counted.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column name: system call, text
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
WITH counted AS (
    SELECT ts_ns, name, 1 AS calls, CASE WHEN ret < 0 THEN 1 ELSE 0 END AS errors, dur_ns AS total_ns, dur_ns AS max_ns, cpu_ns
    FROM syscalls
    UNION ALL
    SELECT ts_ns, name, calls, errors, total_ns, max_ns, cpu_ns
    FROM syscall_totals
    WHERE name NOT IN (SELECT name FROM thread_calls WHERE single)
), heaviest AS (
    SELECT name FROM counted GROUP BY name ORDER BY sum(total_ns) DESC, name LIMIT 60
)
SELECT
    greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    s.name,
    CAST(sum(s.calls) AS BIGINT) AS calls,
    CAST(sum(s.errors) AS BIGINT) AS errors,
    CAST(sum(s.total_ns) AS BIGINT) AS total_ns,
    max(s.max_ns) AS max_ns,
    CAST(sum(s.cpu_ns) AS BIGINT) AS cpu_ns
FROM counted s
CROSS JOIN chart_cells c
JOIN heaviest h ON h.name = s.name
GROUP BY greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), s.name
ORDER BY total_ns DESC, s.name, at_s
