-- title: One row: how the elapsed time is cut into cells, in each of which threads share it
-- uses: recording, storage_sleepers, thread_time
-- filtered as: nothing
-- kept: table
-- A cell is as long as the intervals that hold the work, on average weighted by the work and by the part of the interval that
-- it fills: of what a thread did within an interval the order is not known. Intervals of idle sleep can be of any
-- length (those of a machine at rest, with little work in them, are long), and of more than 20,000 cells nothing more is learnt.
-- column start_ns: start of the elapsed time, ns
-- column elapsed_ns: length of the elapsed time, ns
-- column grid_ns: length of a cell, ns
-- column last_cell: number of the last cell, which takes in a last sliver, number
WITH usual AS (
    SELECT CAST(sum(work_us * work_us) / nullif(sum(work_us * work_us / us), 0) AS BIGINT) AS us
    FROM (
        SELECT
            greatest(least(interval_ns, 10000000000) / 1000.0, 0.001) AS us,
            CASE
                WHEN tid IN (SELECT tid FROM storage_sleepers) THEN interval_ns
                ELSE greatest(interval_ns - coalesce(sleeping_ns, 0), 0)
            END * least(1.0, 10000000000 / greatest(interval_ns, 1)) / 1000.0 AS work_us
        FROM thread_time
    ) AS t
), widths AS (
    SELECT
        r.end_ns - r.elapsed_ns AS start_ns,
        r.elapsed_ns,
        CAST(greatest(
            least(coalesce(u.us * 1000, r.elapsed_ns), r.elapsed_ns), (r.elapsed_ns + 19999) // 20000, 1
        ) AS BIGINT) AS grid_ns
    FROM recording r
    CROSS JOIN usual u
)
SELECT
    start_ns,
    elapsed_ns,
    grid_ns,
    greatest((elapsed_ns - grid_ns // 4) // grid_ns, 0) AS last_cell
FROM widths
