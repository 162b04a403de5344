-- title: Numbers that other tools printed
-- question: Which of the numbers are of the chosen time?
-- report: measurements
-- draws: narrowed
-- place: 254
-- needs: measurements
-- Those that were printed with a time, by that.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column tool: tool that printed it, text
-- column subject: what it is of, text
-- column metric: what was measured, with its unit, text
-- column values: values printed, count
-- column min_value: lowest of them, number
-- column max_value: highest of them, number
SELECT
    greatest(least((m.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    m.tool,
    m.subject,
    m.metric,
    count(*) AS "values",
    min(m."value") AS min_value,
    max(m."value") AS max_value
FROM measurements m
CROSS JOIN chart_cells c
WHERE m.ts_ns IS NOT NULL
GROUP BY greatest(least((m.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), m.tool, m.subject, m.metric
ORDER BY m.tool, m.subject, m.metric, at_s
