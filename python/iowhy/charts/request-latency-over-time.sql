-- title: Latency of requests over time
-- question: How long did requests take from queue to completion, and when?
-- report: request-latency
-- draws: heat
-- place: 20
-- needs: block_requests
-- The buckets are those of the report. Of devices, operations and owners the six with most requests, the others together.
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
)
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
