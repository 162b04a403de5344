-- title: Latency of requests over time
-- question: How long did requests take from queue to completion, and when?
-- report: request-latency
-- draws: heat
-- place: 20
-- needs: block_requests
-- Four buckets to a power of two; the report has two.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column group: device, operation and whose, text
-- column low_ns: from this latency on, ns
-- column high_ns: up to this one, ns
-- column requests: requests, count
WITH measured AS (
    SELECT
        greatest(least((q.queue_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) AS cell,
        coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
            || ' ' || q.op || ' (' || q.whose || ')' AS "group",
        greatest(q.complete_ns - q.queue_ns, 1) AS latency_ns
    FROM counted_requests q
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
), quarters AS (
    SELECT cell, "group", low, CASE WHEN low < 4 THEN 0 ELSE (latency_ns - low) * 4 // low END AS quarter
    FROM right_octaves
)
SELECT
    cell * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    q."group",
    low + low * quarter // 4 AS low_ns,
    CASE WHEN low < 4 THEN low * 2 ELSE low + low * (quarter + 1) // 4 END AS high_ns,
    count(*) AS requests
FROM quarters q
CROSS JOIN chart_cells c
GROUP BY cell, q."group", low, quarter
ORDER BY requests DESC, q."group", at_s, low_ns
