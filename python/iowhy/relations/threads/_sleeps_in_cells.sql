-- title: Sleep for storage in calls of one kind in the part of their own thread's interval in one cell
-- uses: budget_grid, interval_cells, storage_sleeps
-- kept: table
-- As _waits_in_cells, for the interruptible sleep of storage_sleeps.
-- column part_id: number of the part in interval_cells, number
-- column syscall: call, text
-- column class: read, write, sync or collect, text
-- column ring: of collect, number of the ring or context; NULL if not known, number
-- column parts: length in sixteenths of a nanosecond, number
WITH events AS NOT MATERIALIZED (
    SELECT
        s.tid, s.syscall, s.class, s.ring, s.sleeping_ns, s.dur_ns,
        s.ts_ns AS begin_ns, s.ts_ns + s.dur_ns AS end_ns,
        least(greatest(s.ts_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least(greatest(s.ts_ns + s.dur_ns - 1 - g.start_ns, 0) // g.grid_ns, g.last_cell) AS to_cell
    FROM storage_sleeps s
    CROSS JOIN budget_grid g
), in_cells AS NOT MATERIALIZED (
    -- Nearly all calls are in one cell.
    SELECT
        *,
        unnest(
            CASE WHEN from_cell = to_cell THEN [from_cell] ELSE generate_series(from_cell, to_cell) END
        ) AS cell
    FROM events
)
SELECT
    t.part_id,
    e.syscall,
    e.class,
    e.ring,
    CAST(sum(floor(
        (least(e.end_ns, t.end_ns) - greatest(e.begin_ns, t.begin_ns)) * 16
        * CASE WHEN e.sleeping_ns < e.dur_ns THEN e.sleeping_ns / e.dur_ns ELSE 1.0 END
    )) AS BIGINT) AS parts
FROM in_cells e
JOIN interval_cells t ON t.tid = e.tid AND t.cell = e.cell
WHERE e.begin_ns < t.end_ns AND t.begin_ns < e.end_ns
GROUP BY t.part_id, e.syscall, e.class, e.ring
