-- title: One row: how the elapsed time is cut into cells where no thread was timed: as the counters of devices were read
-- uses: disk_steps, recording
-- filtered as: nothing
-- kept: table
-- column start_ns: start of the elapsed time, ns
-- column elapsed_ns: length of the elapsed time, ns
-- column grid_ns: length of a cell, ns
-- column last_cell: number of the last cell, which takes in a last sliver, number
WITH widths AS (
    SELECT
        r.end_ns - r.elapsed_ns AS start_ns,
        r.elapsed_ns,
        CAST(greatest(
            least(coalesce(u.usual_ns, r.elapsed_ns), r.elapsed_ns), (r.elapsed_ns + 19999) // 20000, 1
        ) AS BIGINT) AS grid_ns
    FROM recording r
    CROSS JOIN (SELECT median(dur_ns) AS usual_ns FROM disk_steps) u
)
SELECT
    start_ns,
    elapsed_ns,
    grid_ns,
    greatest((elapsed_ns - grid_ns // 4) // grid_ns, 0) AS last_cell
FROM widths
