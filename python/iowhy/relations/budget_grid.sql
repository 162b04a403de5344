-- title: One row: how the elapsed time is cut into cells, in each of which threads share it
-- filtered as: nothing
-- kept: table
-- A cell is as long as the intervals that hold the work, on average weighted by their length: of what a thread
-- did within an interval the order is not known. Intervals of idle sleep alone can be of any length, and of
-- more than 20,000 cells nothing more is learnt.
-- column start_ns: start of the elapsed time, ns
-- column elapsed_ns: length of the elapsed time, ns
-- column grid_ns: length of a cell, ns
-- column last_cell: number of the last cell, which takes in a last sliver, number
WITH usual AS (
    -- In microseconds, so that the squares of many fit a whole number.
    SELECT sum(us * us) // nullif(sum(us), 0) AS us
    FROM (
        SELECT least(interval_ns, 10000000000) // 1000 AS us
        FROM main.thread_time
        WHERE coalesce(sleeping_ns, 0) < interval_ns
            OR tid IN (SELECT tid FROM main.classed_sleeps)
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
