-- title: One cell of the elapsed time: what all threads did in it, and how they used the CPUs
-- kept: table
-- Lengths are in sixteenths of a nanosecond.
-- column cell: number of the cell, number
-- column user_parts: on a CPU outside system calls, number
-- column kernel_parts: on a CPU inside system calls, number
-- column runnable_parts: ready and waiting for a CPU, number
-- column active_parts: all that is not idle, number
-- column shared_parts: of the cell's length, what the threads that are not idle share, number
-- column mode: serial, saturated or parallel use of the CPUs, text
WITH summed AS (
    SELECT
        cell,
        CAST(sum(user_parts) AS BIGINT) AS u,
        CAST(sum(kernel_parts) AS BIGINT) AS k,
        CAST(sum(runnable_parts) AS BIGINT) AS q,
        CAST(sum(waiting_parts) AS BIGINT) AS w
    FROM row_cells
    GROUP BY cell
), lengths AS (
    SELECT
        s.*,
        16 * CASE WHEN s.cell = g.last_cell THEN g.elapsed_ns - s.cell * g.grid_ns ELSE g.grid_ns END AS n,
        m.busy_share AS busy,
        l.serial_cores,
        l.saturated_share,
        l.shortage_share,
        p.cpus
    FROM summed s
    CROSS JOIN budget_grid g
    CROSS JOIN cpu_limits l
    CROSS JOIN cpu_count p
    LEFT JOIN machine_busy m ON m.cell = s.cell
)
SELECT
    cell,
    u AS user_parts,
    k AS kernel_parts,
    q AS runnable_parts,
    u + k + q + w AS active_parts,
    least(n, u + k + q + w) AS shared_parts,
    -- Work that wants one CPU is serial even where neighbours take them all: what they cost it is the time
    -- that it is ready and waits, and its own time would be no shorter without them.
    CASE
        WHEN cpus <= 1 AND u + k + q >= saturated_share * cpus * n THEN 'saturated'
        WHEN cpus <= 1 OR u + k + q <= serial_cores * n THEN 'serial'
        WHEN busy >= saturated_share OR u + k >= saturated_share * cpus * n
            OR q >= shortage_share * (u + k + q) THEN 'saturated'
        ELSE 'parallel'
    END AS mode
FROM lengths
WHERE u + k + q + w > 0
