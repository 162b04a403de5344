-- title: What a thread did in the part of its interval in one cell, as far as it was not idle
-- uses: interval_cells, off_cpu, thread_intervals
-- kept: table
-- Each interval's time is spread evenly over it. Lengths are in sixteenths of a nanosecond.
-- column row_id: number of the interval in thread_intervals, number
-- column cell: number of the cell, number
-- column user_parts: on a CPU outside the kernel, number
-- column kernel_parts: on a CPU inside the kernel, number
-- column recorder_parts: on a CPU for the recorder itself, number
-- column runnable_parts: ready and waiting for a CPU, number
-- column waiting_parts: all that is neither, and not idle, number
-- column cpu_slack: of user_parts, kernel_parts and recorder_parts, off the critical path: nobody waited for it, and its thread waited for others, share
-- column runnable_slack: of runnable_parts, share
-- column waiting_slack: of waiting_parts, share
WITH waiting AS (
    SELECT row_id, CAST(sum(parts) AS BIGINT) AS parts
    FROM off_cpu
    WHERE class <> 'idle'
    GROUP BY row_id
), active AS (
    -- Only intervals whose thread waits for others have time that nobody waits for.
    SELECT
        t.row_id,
        t.user_ns + t.kernel_ns + t.recorder_ns AS cpu_ns,
        t.runnable_ns,
        coalesce(w.parts // 16, 0) AS waiting_ns,
        t.waits_ns,
        t.waited_ns,
        t.waited_runnable_ns,
        t.waited_blocked_ns
    FROM thread_intervals t
    LEFT JOIN waiting w ON w.row_id = t.row_id
    WHERE t.waits_ns > 0
), wanted AS (
    SELECT
        row_id, cpu_ns, runnable_ns, waiting_ns, waits_ns,
        least(greatest(waited_ns - waited_runnable_ns - waited_blocked_ns, 0), cpu_ns) AS wanted_cpu_ns,
        least(waited_runnable_ns, runnable_ns) AS wanted_runnable_ns,
        least(waited_blocked_ns, waiting_ns) AS wanted_waiting_ns
    FROM active
), unwanted AS (
    SELECT
        *,
        cpu_ns + runnable_ns + waiting_ns - wanted_cpu_ns - wanted_runnable_ns - wanted_waiting_ns AS ns
    FROM wanted
), slack AS (
    SELECT *, least(ns, waits_ns) / ns AS share FROM unwanted WHERE ns > 0
), off_path AS (
    -- A thread that waits for another would only wait longer if it were quicker before: what it did in that time is off the
    -- critical path, but for what others waited for.
    SELECT
        row_id,
        coalesce((cpu_ns - wanted_cpu_ns) * share / nullif(cpu_ns, 0), 0) AS cpu_slack,
        coalesce((runnable_ns - wanted_runnable_ns) * share / nullif(runnable_ns, 0), 0) AS runnable_slack,
        coalesce((waiting_ns - wanted_waiting_ns) * share / nullif(waiting_ns, 0), 0) AS waiting_slack
    FROM slack
), spread AS (
    SELECT
        c.row_id,
        c.cell,
        (c.begin_ns - t.ts_ns) / (t.end_ns - t.ts_ns) AS a,
        (c.end_ns - t.ts_ns) / (t.end_ns - t.ts_ns) AS z,
        16 * t.user_ns AS u,
        16 * t.kernel_ns AS k,
        16 * t.recorder_ns AS r,
        16 * t.runnable_ns AS q,
        coalesce(w.parts, 0) AS w,
        coalesce(s.cpu_slack, 0) AS cpu_slack,
        coalesce(s.runnable_slack, 0) AS runnable_slack,
        coalesce(s.waiting_slack, 0) AS waiting_slack
    FROM interval_cells c
    JOIN thread_intervals t ON t.row_id = c.row_id
    LEFT JOIN waiting w ON w.row_id = c.row_id
    LEFT JOIN off_path s ON s.row_id = c.row_id
)
SELECT
    row_id,
    cell,
    CAST(floor(u * z) - floor(u * a) AS BIGINT) AS user_parts,
    CAST(floor(k * z) - floor(k * a) AS BIGINT) AS kernel_parts,
    CAST(floor(r * z) - floor(r * a) AS BIGINT) AS recorder_parts,
    CAST(floor(q * z) - floor(q * a) AS BIGINT) AS runnable_parts,
    CAST(floor(w * z) - floor(w * a) AS BIGINT) AS waiting_parts,
    cpu_slack, runnable_slack, waiting_slack
FROM spread
