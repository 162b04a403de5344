-- title: System calls
-- question: Which calls were made in the chosen time, and how long did they take?
-- report: syscalls
-- draws: narrowed
-- place: 200
-- needs: syscalls or syscall_totals
-- heaviest: 60 by sum(total_ns) DESC
-- Calls that were kept one by one, by when they began; the others by the intervals in which they were counted.
-- column name: system call, text
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
SELECT
    ts_ns, name, 1 AS calls, CASE WHEN ret < 0 THEN 1 ELSE 0 END AS errors, dur_ns AS total_ns,
    dur_ns AS max_ns, cpu_ns
FROM file_operations
WHERE dur_ns IS NOT NULL
UNION ALL
SELECT ts_ns, name, calls, errors, total_ns, max_ns, cpu_ns
FROM syscall_totals
WHERE name NOT IN (SELECT name FROM thread_calls WHERE single)
