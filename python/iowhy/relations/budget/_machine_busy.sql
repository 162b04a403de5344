-- title: How busy all CPUs of the machine were in one cell of the elapsed time
-- uses: budget_grid, cpu_steps
-- filtered as: nothing
-- kept: table
-- From the readings of /proc/stat around it.
-- column cell: number of the cell, number
-- column busy_share: of the CPUs' time, share
WITH spans AS (
    SELECT
        c.before_ns AS begin_ns, c.ts_ns AS end_ns, c.busy_ns, c.free_ns, g.start_ns, g.grid_ns,
        least(greatest(c.before_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least(greatest(c.ts_ns - 1 - g.start_ns, 0) // g.grid_ns, g.last_cell) AS to_cell
    FROM cpu_steps c
    CROSS JOIN budget_grid g
    WHERE c.cpu = -1 AND c.all_ns > 0 AND c.ts_ns > c.before_ns
), parts AS (
    SELECT *, unnest(generate_series(from_cell, to_cell)) AS cell FROM spans
), clipped AS (
    SELECT
        cell, busy_ns, free_ns,
        (CASE WHEN cell = to_cell THEN end_ns ELSE start_ns + (cell + 1) * grid_ns END
            - CASE WHEN cell = from_cell THEN begin_ns ELSE start_ns + cell * grid_ns END)
            / (end_ns - begin_ns) AS part
    FROM parts
)
SELECT
    cell,
    sum(floor(busy_ns * part)) / nullif(sum(floor(busy_ns * part) + floor(free_ns * part)), 0) AS busy_share
FROM clipped
GROUP BY cell
