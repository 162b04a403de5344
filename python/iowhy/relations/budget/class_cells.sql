-- title: What of one cell of the elapsed time falls to one class of the budget
-- uses: budget_cells, cell_times, off_cpu
-- kept: table
-- Sums over cells are the budget, but for its rounding. Cells without any time of a class have no row of it, idle ones no row at all.
-- column cell: number of the cell, number
-- column class: key of the class, text
-- column elapsed_ns: of the cell's length, ns
-- column thread_ns: time of all threads, ns
WITH by_class AS (
    SELECT row_id, class, sum(parts) AS parts FROM off_cpu WHERE class <> 'idle' AND parts > 0 GROUP BY row_id, class
), waiting AS (
    SELECT row_id, sum(parts) AS parts FROM by_class GROUP BY row_id
), located AS (
    SELECT
        cell, 'user' AS class,
        (user_parts - user_slack_parts) * critical_share + user_slack_parts * slack_share AS parts,
        user_parts AS thread_parts
    FROM budget_cells
    UNION ALL
    SELECT
        cell, 'kernel',
        (kernel_parts - kernel_slack_parts) * critical_share + kernel_slack_parts * slack_share,
        kernel_parts
    FROM budget_cells
    UNION ALL
    SELECT
        cell, 'recorder',
        (recorder_parts - recorder_slack_parts) * critical_share + recorder_slack_parts * slack_share,
        recorder_parts
    FROM budget_cells
    UNION ALL
    SELECT
        cell, 'runnable',
        (runnable_parts - runnable_slack_parts) * critical_share + runnable_slack_parts * slack_share,
        runnable_parts
    FROM budget_cells
    UNION ALL
    SELECT
        r.cell, o.class,
        r.waiting_parts * (o.parts / w.parts)
            * ((1 - r.waiting_slack) * b.critical_share + r.waiting_slack * b.slack_share),
        r.waiting_parts * (o.parts / w.parts)
    FROM cell_times r
    JOIN budget_cells b ON b.cell = r.cell
    JOIN waiting w ON w.row_id = r.row_id
    JOIN by_class o ON o.row_id = r.row_id
    WHERE r.waiting_parts > 0
)
SELECT cell, class, sum(parts) / 16 AS elapsed_ns, sum(thread_parts) / 16 AS thread_ns
FROM located
WHERE thread_parts > 0
GROUP BY cell, class
