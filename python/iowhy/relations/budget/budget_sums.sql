-- title: Time of one class by the call and reason behind it, before rounding
-- uses: _kernel_kinds, budget_cells, budget_grid, cell_times, off_cpu, thread_intervals
-- Of recorded threads; if none was timed it is pasted_sums.
-- kept: table
-- Lengths are in sixteenths of a nanosecond.
-- column origin: threads, text
-- column class: key of the class, text
-- column syscall: call, text
-- column reason: reason, text
-- column mode: how the CPUs were used then, if it is time on or for a CPU, text
-- column thread_parts: time of all threads, number
-- column elapsed_parts: what falls to it of the elapsed time, number
WITH kernel_of_threads AS (
    SELECT
        t.tid,
        b.mode,
        CAST(sum(r.kernel_parts) AS BIGINT) AS parts,
        sum(
            (r.kernel_parts - floor(r.kernel_parts * r.cpu_slack)) * b.critical_share
            + floor(r.kernel_parts * r.cpu_slack) * b.slack_share
        ) AS elapsed_parts
    FROM cell_times r
    JOIN budget_cells b ON b.cell = r.cell
    JOIN thread_intervals t ON t.row_id = r.row_id
    WHERE r.kernel_parts > 0
    GROUP BY t.tid, b.mode
), in_kernel AS (
    SELECT
        k.kind,
        t.mode,
        CAST(sum(floor(t.parts * coalesce(k.share, 1))) AS BIGINT) AS parts,
        CAST(sum(floor(t.elapsed_parts * coalesce(k.share, 1))) AS BIGINT) AS elapsed_parts
    FROM kernel_of_threads t
    LEFT JOIN _kernel_kinds k ON k.tid = t.tid
    GROUP BY k.kind, t.mode
), shares AS (
    SELECT
        r.row_id,
        sum(floor(
            r.waiting_parts
            * ((1 - r.waiting_slack) * b.critical_share + r.waiting_slack * b.slack_share)
        )) / sum(r.waiting_parts) AS share
    FROM cell_times r
    JOIN budget_cells b ON b.cell = r.cell
    WHERE r.waiting_parts > 0
    GROUP BY r.row_id
), on_cpu AS (
    SELECT
        'user' AS class, CAST(NULL AS VARCHAR) AS reason, mode, user_parts AS parts,
        (user_parts - user_slack_parts) * critical_share + user_slack_parts * slack_share AS elapsed_parts
    FROM budget_cells
    UNION ALL
    SELECT
        'recorder', NULL, NULL, recorder_parts,
        (recorder_parts - recorder_slack_parts) * critical_share + recorder_slack_parts * slack_share
    FROM budget_cells
    UNION ALL
    SELECT
        'runnable', NULL, runnable_mode, runnable_parts,
        (runnable_parts - runnable_slack_parts) * critical_share + runnable_slack_parts * slack_share
    FROM budget_cells
    UNION ALL
    SELECT 'kernel', kind, mode, parts, elapsed_parts FROM in_kernel
)
SELECT
    'threads' AS origin,
    class,
    CAST(NULL AS VARCHAR) AS syscall,
    reason,
    mode,
    CAST(sum(parts) AS BIGINT) AS thread_parts,
    CAST(sum(floor(elapsed_parts)) AS BIGINT) AS elapsed_parts
FROM on_cpu
WHERE parts > 0
GROUP BY class, reason, mode
UNION ALL
SELECT
    'threads', o.class, o.syscall, o.reason, NULL,
    CAST(sum(o.parts) AS BIGINT),
    CAST(sum(floor(o.parts * s.share)) AS BIGINT)
FROM off_cpu o
JOIN shares s ON s.row_id = o.row_id
WHERE o.class <> 'idle'
GROUP BY o.class, o.syscall, o.reason
UNION ALL
SELECT 'threads', class, syscall, reason, NULL, CAST(sum(parts) AS BIGINT), 0
FROM off_cpu
WHERE class = 'idle'
GROUP BY class, syscall, reason
UNION ALL
SELECT 'threads', 'idle', NULL, NULL, NULL, 0,
    16 * max(g.elapsed_ns) - CAST(coalesce(sum(b.shared_parts), 0) AS BIGINT)
FROM budget_grid g
LEFT JOIN budget_cells b ON true
