-- title: One row: how charts cut the elapsed time
-- uses: recording
-- Short enough to see a stall of a hundredth of the run, few enough for a page that is sent round.
-- column start_ns: start of the elapsed time, ns
-- column last_cell: number of the last cell; what begins later counts there, number
-- column cell_ns: length of a cell, ns
SELECT
    end_ns - elapsed_ns AS start_ns,
    CASE WHEN elapsed_ns > 0 THEN 119 ELSE 0 END AS last_cell,
    greatest((elapsed_ns + 119) // 120, 1) AS cell_ns
FROM recording
