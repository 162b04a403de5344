-- title: How busy all CPUs of the machine were in one cell of the elapsed time
-- kept: table
-- From the readings of /proc/stat around it; time that the hypervisor took counts as busy.
-- column cell: number of the cell, number
-- column busy_share: of the CPUs' time, share
WITH readings AS (
    SELECT
        ts_ns,
        user_ns + system_ns + coalesce(irq_ns, 0) + coalesce(steal_ns, 0) AS busy_ns,
        idle_ns + coalesce(iowait_ns, 0) AS free_ns
    FROM main.cpu_samples
    WHERE cpu = -1
), changes AS (
    SELECT
        lag(ts_ns) OVER (ORDER BY ts_ns) AS begin_ns,
        ts_ns AS end_ns,
        busy_ns - lag(busy_ns) OVER (ORDER BY ts_ns) AS busy_ns,
        free_ns - lag(free_ns) OVER (ORDER BY ts_ns) AS free_ns
    FROM readings
), spans AS (
    SELECT
        c.*, g.start_ns, g.grid_ns,
        least(greatest(c.begin_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least(greatest(c.end_ns - 1 - g.start_ns, 0) // g.grid_ns, g.last_cell) AS to_cell
    FROM changes c
    CROSS JOIN budget_grid g
    WHERE c.end_ns > c.begin_ns AND c.busy_ns >= 0 AND c.free_ns >= 0 AND c.busy_ns + c.free_ns > 0
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
