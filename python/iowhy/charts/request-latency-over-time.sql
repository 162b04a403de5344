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
WITH groups AS (
    SELECT dev, op, whose, row_number() OVER (ORDER BY count(*) DESC, dev, op, whose) AS place
    FROM counted_requests
    GROUP BY dev, op, whose
), measured AS (
    SELECT
        greatest(least((q.queue_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) AS cell,
        CASE WHEN g.place <= 6
            THEN coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
                || ' ' || q.op || ' (' || q.whose || ')'
            ELSE 'other requests'
        END AS "group",
        greatest(q.complete_ns - q.queue_ns, 1) AS latency_ns
    FROM counted_requests q
    JOIN groups g ON g.dev = q.dev AND g.op = q.op AND g.whose = q.whose
    CROSS JOIN chart_cells c
    LEFT JOIN devices d ON d.dev = q.dev
    WHERE q.complete_ns IS NOT NULL AND (q.op <> 'write' OR q.bytes > 0)
), octaves AS (
    SELECT *, CAST(pow(2, CAST(floor(log2(latency_ns)) AS BIGINT)) AS BIGINT) AS low FROM measured
), right_octaves AS (
    -- A logarithm may miss an exact power of two by one.
    SELECT cell, "group", latency_ns,
        CASE WHEN low > latency_ns THEN low // 2 WHEN low * 2 <= latency_ns THEN low * 2 ELSE low END AS low
    FROM octaves
), halves AS (
    SELECT cell, "group", low, low > 1 AND latency_ns * 2 >= low * 3 AS upper FROM right_octaves
), counted AS (
    SELECT cell, "group", low, upper, count(*) AS requests FROM halves GROUP BY cell, "group", low, upper
), grid AS (
    -- What is everywhere is drawn in longer cells, two or four of them together.
    SELECT CASE
        WHEN count(*) <= 9000 THEN 1
        WHEN count(DISTINCT (cell // 2, "group", low, upper)) <= 9000 THEN 2
        ELSE 4
    END AS together
    FROM counted
)
SELECT
    n.cell // g.together * g.together * max(c.cell_ns) / 1e9 AS at_s,
    g.together * max(c.cell_ns) / 1e9 AS span_s,
    n."group",
    n.low + CASE WHEN n.upper THEN n.low // 2 ELSE 0 END AS low_ns,
    CASE WHEN n.low > 1 AND NOT n.upper THEN n.low + n.low // 2 ELSE n.low * 2 END AS high_ns,
    CAST(sum(n.requests) AS BIGINT) AS requests
FROM counted n
CROSS JOIN grid g
CROSS JOIN chart_cells c
GROUP BY n.cell // g.together, g.together, n."group", n.low, n.upper
ORDER BY requests DESC, n."group", at_s, low_ns
