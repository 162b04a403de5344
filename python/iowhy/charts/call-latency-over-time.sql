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
    SELECT name, row_number() OVER (ORDER BY sum(dur_ns) DESC, name) AS place FROM syscalls GROUP BY name
), measured AS (
    SELECT
        greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) AS cell,
        CASE WHEN n.place <= 6 THEN s.name ELSE 'other calls' END AS "group",
        greatest(s.dur_ns, 1) AS latency_ns
    FROM syscalls s
    JOIN names n ON n.name = s.name
    CROSS JOIN chart_cells c
    WHERE s.ret IS NOT NULL
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
    SELECT cell, "group", low, upper, count(*) AS calls FROM halves GROUP BY cell, "group", low, upper
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
    CAST(sum(n.calls) AS BIGINT) AS calls
FROM counted n
CROSS JOIN grid g
CROSS JOIN chart_cells c
GROUP BY n.cell // g.together, g.together, n."group", n.low, n.upper
ORDER BY calls DESC, n."group", at_s, low_ns
