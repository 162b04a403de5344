-- title: Latency of calls over time
-- question: How long did I/O calls take, and when?
-- report: syscall-latency
-- draws: heat
-- place: 30
-- needs: syscalls
-- Calls that were kept one by one; the eight names with most time, the others together.
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
        CASE WHEN n.place <= 8 THEN s.name ELSE 'other calls' END AS "group",
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
    count(*) AS calls
FROM quarters q
CROSS JOIN chart_cells c
GROUP BY cell, q."group", low, quarter
ORDER BY calls DESC, q."group", at_s, low_ns
