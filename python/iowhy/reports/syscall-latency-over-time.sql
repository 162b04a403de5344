-- title: Latency of system calls over time
-- question: When did calls of one name take how long, from entry to exit?
-- stands in for: heat maps of strace -T's lines
-- heat map: calls from low_ns to high_ns over at_s by name
-- about: at_s name low_ns high_ns calls
-- column at_s: begin of the cell, after the start of the recording, s
-- column span_s: its length, s
-- column name: system call, text
-- column low_ns: shortest duration of the bucket, a power of two or one and a half of it, ns
-- column high_ns: first duration above the bucket, ns
-- column calls: calls that began in the cell and took so long, count
-- The same cells as in the page's chart. Only I/O calls are kept one by one; those that had not returned are in none.
WITH groups AS (
    SELECT name, sum(calls * low_ns) AS about_ns FROM call_latency_cells GROUP BY name
)
SELECT
    (c.start_ns - r.start_ns + l.cell * c.cell_ns) / 1e9 AS at_s,
    c.cell_ns / 1e9 AS span_s,
    l.name,
    l.low_ns,
    l.high_ns,
    l.calls
FROM call_latency_cells l
JOIN groups g ON g.name = l.name
CROSS JOIN chart_cells c
CROSS JOIN recording r
ORDER BY g.about_ns DESC, l.name, at_s, l.low_ns
