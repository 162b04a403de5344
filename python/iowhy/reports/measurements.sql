-- title: Numbers that other tools printed
-- question: Which summary numbers did the tools print that no other table holds?
-- stands in for: curt, filemon, fileplace, iozone, fio, latencytop and the like, side by side
-- filters: since until
-- about: subject metric value tool
-- column tool: tool that printed it, text
-- column subject: what it is of: a file, a call, a device, a job, text
-- column metric: what was measured, with its unit, text
-- column value: mean of the values, in the unit that the metric names, number
-- column values: values printed, count
-- column lowest: lowest of them, number
-- column highest: highest of them, number
SELECT
    tool,
    subject,
    metric,
    avg("value") AS "value",
    count(*) AS "values",
    min("value") AS lowest,
    max("value") AS highest
FROM measurements
GROUP BY tool, subject, metric
ORDER BY tool, subject, metric
