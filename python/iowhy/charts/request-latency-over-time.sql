-- title: Latency of requests over time
-- question: How long did requests take from queue to completion, and when?
-- report: request-latency
-- draws: heat
-- place: 20
-- needs: block_requests
-- The buckets are those of the report. Of devices, operations and owners the six with most requests, the others together.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column group: device, operation and whose, text
-- column low_ns: from this latency on, ns
-- column high_ns: up to this one, ns
-- column requests: requests, count
WITH cells AS MATERIALIZED (
    SELECT * FROM request_latency_cells
), groups AS (
    SELECT dev, op, whose, row_number() OVER (ORDER BY sum(requests) DESC, dev, op, whose) AS place
    FROM cells
    GROUP BY dev, op, whose
), counted AS MATERIALIZED (
    SELECT
        l.cell,
        CASE WHEN g.place <= 6
            THEN coalesce(d.name, CAST(l.dev >> 20 AS VARCHAR) || ':' || CAST(l.dev & 1048575 AS VARCHAR))
                || ' ' || l.op || ' (' || l.whose || ')'
            ELSE 'other requests'
        END AS "group",
        l.low_ns,
        l.high_ns,
        sum(l.requests) AS requests
    FROM cells l
    JOIN groups g ON g.dev = l.dev AND g.op = l.op AND g.whose = l.whose
    LEFT JOIN devices d ON d.dev = l.dev
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
    CAST(sum(n.requests) AS BIGINT) AS requests
FROM counted n
CROSS JOIN grid g
CROSS JOIN chart_cells c
GROUP BY n.cell // g.together, g.together, n."group", n.low_ns, n.high_ns
ORDER BY requests DESC, n."group", at_s, n.low_ns
