-- title: What a thread did in the part of its interval in one cell, as far as it was not idle
-- kept: table
-- Each interval's time is spread evenly over it. Lengths are in sixteenths of a nanosecond.
-- column row_id: number of the interval in thread_rows, number
-- column cell: number of the cell, number
-- column user_parts: on a CPU outside the kernel, number
-- column kernel_parts: on a CPU inside the kernel, number
-- column recorder_parts: on a CPU for the recorder itself, number
-- column runnable_parts: ready and waiting for a CPU, number
-- column waiting_parts: all that is neither, and not idle, number
-- column cpu_slack: of user_parts, kernel_parts and recorder_parts, off the critical path (thread_slack), share
-- column runnable_slack: of runnable_parts, share
-- column waiting_slack: of waiting_parts, share
WITH waiting AS (
    SELECT row_id, CAST(sum(parts) AS BIGINT) AS parts
    FROM off_cpu
    WHERE class <> 'idle'
    GROUP BY row_id
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
    FROM thread_cells c
    JOIN thread_rows t ON t.row_id = c.row_id
    LEFT JOIN waiting w ON w.row_id = c.row_id
    LEFT JOIN thread_slack s ON s.row_id = c.row_id
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
