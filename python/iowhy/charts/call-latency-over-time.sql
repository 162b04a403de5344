-- title: Latency of calls over time
-- question: How long did I/O calls take, and when?
-- report: syscall-latency
-- draws: heat
-- place: 30
-- needs: syscalls
-- Calls that were kept one by one; the six names with most time, the others together.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column group: name of the call, text
-- column low_ns: from this latency on, ns
-- column high_ns: up to this one, ns
-- column calls: calls that returned, count
WITH names AS (
    SELECT name, row_number() OVER (ORDER BY sum(dur_ns) DESC, name) AS place FROM file_operations GROUP BY name
), counted AS MATERIALIZED (
    SELECT
        l.cell,
        CASE WHEN n.place <= 6 THEN l.name ELSE 'other calls' END AS "group",
        l.low_ns,
        l.high_ns,
        sum(l.calls) AS calls
    FROM call_latency_cells l
    JOIN names n ON n.name = l.name
    GROUP BY ALL
), grid AS (
    -- What is everywhere is drawn in longer cells, two or four of them together.
    SELECT CASE
        WHEN count(*) <= 9000 THEN 1
        WHEN count(DISTINCT (cell // 2, "group", low_ns)) <= 9000 THEN 2
        ELSE 4
    END AS together
    FROM counted
)
SELECT
    n.cell // g.together * g.together * max(c.cell_ns) / 1e9 AS at_s,
    g.together * max(c.cell_ns) / 1e9 AS span_s,
    n."group",
    n.low_ns,
    n.high_ns,
    CAST(sum(n.calls) AS BIGINT) AS calls
FROM counted n
CROSS JOIN grid g
CROSS JOIN chart_cells c
GROUP BY n.cell // g.together, g.together, n."group", n.low_ns, n.high_ns
ORDER BY calls DESC, n."group", at_s, n.low_ns
