-- title: Uninterruptible waits of one kind in the part of their own thread's interval in one cell
-- uses: _waits_to_divide, budget_grid, interval_cells
-- kept: table
-- Of all waits, or of those that _waits_in_intervals cannot take from what the recorder divided (_waits_to_divide). A wait over several intervals has a part in each, and so has one over several cells. Where only some of a
-- call's time was a wait, it counts as spread over the call.
-- column part_id: number of the part in interval_cells, number
-- column key: number of reason and call in wait_classes, number
-- column parts: length in sixteenths of a nanosecond, number
WITH events AS NOT MATERIALIZED (
    SELECT
        w.tid, w.key, w.blocked_ns, w.dur_ns, w.ts_ns AS begin_ns, w.ts_ns + w.dur_ns AS end_ns,
        least(greatest(w.ts_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least(greatest(w.ts_ns + w.dur_ns - 1 - g.start_ns, 0) // g.grid_ns, g.last_cell) AS to_cell
    FROM _waits_to_divide w
    CROSS JOIN budget_grid g
), in_cells AS NOT MATERIALIZED (
    -- Nearly all waits are in one cell: only the others need a series.
    SELECT tid, key, blocked_ns, dur_ns, begin_ns, end_ns, from_cell AS cell FROM events
    UNION ALL
    SELECT tid, key, blocked_ns, dur_ns, begin_ns, end_ns,
        unnest(generate_series(from_cell + 1, to_cell)) AS cell
    FROM events
    WHERE from_cell < to_cell
)
SELECT
    t.part_id,
    e.key,
    CAST(sum(floor(
        (least(e.end_ns, t.end_ns) - greatest(e.begin_ns, t.begin_ns)) * 16
        * CASE WHEN e.blocked_ns < e.dur_ns THEN e.blocked_ns / e.dur_ns ELSE 1.0 END
    )) AS BIGINT) AS parts
FROM in_cells e
JOIN interval_cells t ON t.tid = e.tid AND t.cell = e.cell
WHERE e.begin_ns < t.end_ns AND t.begin_ns < e.end_ns
GROUP BY t.part_id, e.key
