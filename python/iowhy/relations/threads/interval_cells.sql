-- title: The part of a thread's interval in one cell of the elapsed time
-- uses: budget_grid, storage_sleepers, thread_intervals
-- kept: table
-- The elapsed time is cut into cells (budget_grid); what is before the first or after the last
-- cell counts there. Left out are intervals of nothing but idle sleep.
-- column part_id: number of the part, number
-- column row_id: number of the interval, number
-- column tid: thread, id
-- column tgid: process, id
-- column cell: number of the cell, from 0, number
-- column begin_ns: start of the part, ns
-- column end_ns: end of the part, ns
WITH spans AS (
    SELECT
        t.row_id, t.tid, t.ts_ns, t.end_ns, t.tgid, g.start_ns, g.grid_ns,
        least(greatest(t.ts_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least(greatest(t.end_ns - 1 - g.start_ns, 0) // g.grid_ns, g.last_cell) AS to_cell
    FROM thread_intervals t
    CROSS JOIN budget_grid g
    WHERE t.user_ns + t.kernel_ns + t.recorder_ns + t.runnable_ns + t.blocked_ns + t.unseen_ns > 0
        OR t.tid IN (SELECT tid FROM storage_sleepers)
), parts AS (
    SELECT *, unnest(generate_series(from_cell, to_cell)) AS cell FROM spans
)
SELECT
    row_number() OVER (ORDER BY row_id, cell) AS part_id,
    row_id, tid, tgid, cell,
    CASE WHEN cell = from_cell THEN ts_ns ELSE start_ns + cell * grid_ns END AS begin_ns,
    CASE WHEN cell = to_cell THEN end_ns ELSE start_ns + (cell + 1) * grid_ns END AS end_ns
FROM parts
