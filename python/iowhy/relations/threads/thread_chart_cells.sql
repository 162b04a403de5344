-- title: The part of a thread's interval in one cell of a chart
-- uses: chart_cells, thread_intervals
-- What is before the first or after the last cell counts there. What a thread did is spread evenly over its interval.
-- column row_id: number of the interval in thread_intervals, number
-- column cell: number of the cell (chart_cells), number
-- column part: of the interval, share
WITH spans AS (
    SELECT
        t.row_id, t.ts_ns, t.end_ns, c.start_ns, c.cell_ns,
        greatest(least((t.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) AS from_cell,
        greatest(least((t.end_ns - 1 - c.start_ns) // c.cell_ns, c.last_cell), 0) AS to_cell
    FROM thread_intervals t
    CROSS JOIN chart_cells c
), parts AS (
    SELECT *, unnest(generate_series(from_cell, to_cell)) AS cell FROM spans
)
SELECT
    row_id,
    cell,
    (CASE WHEN cell = to_cell THEN end_ns ELSE start_ns + (cell + 1) * cell_ns END
        - CASE WHEN cell = from_cell THEN ts_ns ELSE start_ns + cell * cell_ns END)
        / (end_ns - ts_ns) AS part
FROM parts
