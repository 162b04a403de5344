-- title: One cell of the elapsed time: what all threads did in it, and how they used the CPUs
-- uses: _machine_busy, budget_grid, cell_times, cpu_count, cpu_limits
-- kept: table
-- Lengths are in sixteenths of a nanosecond.
-- column cell: number of the cell, number
-- column user_parts: on a CPU outside the kernel, number
-- column kernel_parts: on a CPU inside the kernel, number
-- column recorder_parts: on a CPU for the recorder itself, number
-- column runnable_parts: ready and waiting for a CPU, number
-- column active_parts: all that is not idle, number
-- column user_slack_parts: of user_parts, off the critical path, number
-- column kernel_slack_parts: of kernel_parts, number
-- column recorder_slack_parts: of recorder_parts, number
-- column runnable_slack_parts: of runnable_parts, number
-- column shared_parts: of the cell's length, what the threads that are not idle share, number
-- column critical_share: what falls to a part on the critical path of that: it is served first, share
-- column slack_share: what falls to a part off it, share
-- column mode: serial, saturated or parallel use of the CPUs, text
-- column runnable_mode: the same for the time that threads wait for a CPU; `delayed` while CPUs idle, text
WITH summed AS (
    SELECT
        cell,
        CAST(sum(user_parts) AS BIGINT) AS u,
        CAST(sum(kernel_parts) AS BIGINT) AS k,
        CAST(sum(recorder_parts) AS BIGINT) AS r,
        CAST(sum(runnable_parts) AS BIGINT) AS q,
        CAST(sum(waiting_parts) AS BIGINT) AS w,
        CAST(sum(floor(user_parts * cpu_slack)) AS BIGINT) AS user_slack,
        CAST(sum(floor(kernel_parts * cpu_slack)) AS BIGINT) AS kernel_slack,
        CAST(sum(floor(recorder_parts * cpu_slack)) AS BIGINT) AS recorder_slack,
        CAST(sum(floor(runnable_parts * runnable_slack)) AS BIGINT) AS runnable_slack,
        CAST(sum(floor(waiting_parts * waiting_slack)) AS BIGINT) AS waiting_slack
    FROM cell_times
    GROUP BY cell
), lengths AS (
    SELECT
        s.*,
        16 * CASE WHEN s.cell = g.last_cell THEN g.elapsed_ns - s.cell * g.grid_ns ELSE g.grid_ns END AS n,
        m.busy_share AS busy,
        l.serial_cores,
        l.saturated_share,
        l.shortage_share,
        l.left_share,
        p.cpus
    FROM summed s
    CROSS JOIN budget_grid g
    CROSS JOIN cpu_limits l
    CROSS JOIN cpu_count p
    LEFT JOIN _machine_busy m ON m.cell = s.cell
), left_over AS (
    SELECT
        *,
        -- The machine's readings count ticks, and may begin before the command and end after it: what its own threads
        -- used is exact. If it is not known how busy the CPUs are, none is known to be left.
        coalesce(
            cpus > 1 AND busy <= 1 - left_share AND u + k + r <= (1 - left_share) * cpus * n, false
        ) AS cpus_left
    FROM lengths
), sides AS (
    SELECT
        *,
        -- Work that wants one CPU is serial even where neighbours take them all: what they cost it is the time
        -- that it is ready and waits, and its own time would be no shorter without them.
        CASE
            WHEN cpus <= 1 AND u + k + r + q >= saturated_share * cpus * n THEN 'saturated'
            WHEN cpus <= 1 OR u + k + r + q <= serial_cores * n THEN 'serial'
            WHEN busy >= saturated_share OR u + k + r >= saturated_share * cpus * n
                OR (q >= shortage_share * (u + k + r + q) AND NOT cpus_left) THEN 'saturated'
            ELSE 'parallel'
        END AS mode,
        u + k + r + q + w AS active,
        user_slack + kernel_slack + recorder_slack + runnable_slack + waiting_slack AS slack
    FROM left_over
)
SELECT
    cell,
    u AS user_parts,
    k AS kernel_parts,
    r AS recorder_parts,
    q AS runnable_parts,
    active AS active_parts,
    user_slack AS user_slack_parts,
    kernel_slack AS kernel_slack_parts,
    recorder_slack AS recorder_slack_parts,
    runnable_slack AS runnable_slack_parts,
    least(n, active) AS shared_parts,
    CASE WHEN active > slack THEN least(n, active - slack) / (active - slack) ELSE 0 END AS critical_share,
    CASE WHEN slack > 0 THEN (least(n, active) - least(n, active - slack)) / slack ELSE 0 END AS slack_share,
    mode,
    CASE WHEN cpus_left THEN 'delayed' ELSE mode END AS runnable_mode
FROM sides
WHERE active > 0
