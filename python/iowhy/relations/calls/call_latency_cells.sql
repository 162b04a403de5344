-- title: Calls by duration and cell of time, as heat maps show them
-- uses: chart_cells, file_operations
-- Calls that were kept one by one and have returned, in the buckets of the report syscall-latency: two to a power of two.
-- column cell: number of the cell in which it began (chart_cells), number
-- column name: system call, text
-- column low_ns: from this duration on, ns
-- column high_ns: up to this one, ns
-- column calls: calls, count
WITH measured AS (
    SELECT
        least(greatest((s.ts_ns - c.start_ns) // c.cell_ns, 0), c.last_cell) AS cell,
        s.name,
        greatest(s.dur_ns, 1) AS latency_ns,
        CAST(floor(log2(greatest(s.dur_ns, 1))) AS INTEGER) AS guess
    FROM file_operations s
    CROSS JOIN chart_cells c
    WHERE s.ret IS NOT NULL AND s.dur_ns IS NOT NULL
), octaves AS (
    -- A logarithm may miss an exact power of two by one: then what is left of the duration is not 1.
    SELECT
        *,
        CAST(1 AS BIGINT) << CAST(
            CASE latency_ns >> guess WHEN 1 THEN guess WHEN 0 THEN guess - 1 ELSE guess + 1 END AS INTEGER
        ) AS power_ns
    FROM measured
), halves AS (
    SELECT *, power_ns > 1 AND latency_ns * 2 >= power_ns * 3 AS upper_half FROM octaves
)
SELECT
    cell,
    name,
    power_ns + CASE WHEN upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE 0 END AS low_ns,
    power_ns + CASE WHEN power_ns > 1 AND NOT upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE power_ns END AS high_ns,
    count(*) AS calls
FROM halves
GROUP BY cell, name, power_ns, upper_half
