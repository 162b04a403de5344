-- title: Numbers that other tools printed
-- question: Which of the numbers are of the chosen time?
-- report: measurements
-- draws: narrowed
-- place: 254
-- needs: measurements
-- Those that were printed with a time, by that.
-- column tool: tool that printed it, text
-- column subject: what it is of, text
-- column metric: what was measured, with its unit, text
-- column values: values printed, count
-- column min_value: lowest of them, number
-- column max_value: highest of them, number
SELECT ts_ns, tool, subject, metric, 1 AS "values", "value" AS min_value, "value" AS max_value
FROM measurements
WHERE ts_ns IS NOT NULL
