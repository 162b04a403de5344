-- title: Callers
-- question: Whose code made the calls, waited and computed in the chosen time, as far as samples tell?
-- report: callers
-- draws: narrowed
-- place: 253
-- needs: stack_samples
-- The forty paths with most time, by when their stacks were taken.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column path: functions, the innermost first, each called by the next, text
-- column samples: stacks that were taken of it, count
-- column total_ns: time that they stand for, ns
-- column calls: calls that they stand for, count
-- column transferred_bytes: bytes that these moved, bytes
WITH named AS (
    SELECT s.ts_ns, s.weight_ns, s.calls, s.transferred_bytes, coalesce(p.path, 'stack not read') AS path
    FROM stack_samples s
    LEFT JOIN user_paths p ON p.user_stack_id = s.user_stack_id
), heaviest AS (
    SELECT path FROM named GROUP BY path ORDER BY sum(weight_ns) DESC, path LIMIT 40
)
SELECT
    greatest(least((n.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    n.path,
    count(*) AS samples,
    CAST(sum(n.weight_ns) AS BIGINT) AS total_ns,
    CAST(sum(n.calls) AS BIGINT) AS calls,
    CAST(sum(n.transferred_bytes) AS BIGINT) AS transferred_bytes
FROM named n
CROSS JOIN chart_cells c
JOIN heaviest h ON h.path = n.path
GROUP BY greatest(least((n.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), n.path
ORDER BY total_ns DESC, n.path, at_s
