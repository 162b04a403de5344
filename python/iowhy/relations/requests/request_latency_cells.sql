-- title: Requests by latency and cell of time, as heat maps show them
-- uses: chart_cells, counted_requests
-- Buckets are those of the report request-latency: two to a power of two. What was queued before the elapsed time counts in
-- its first cell. Writes of nothing are left out: their flush is its own request.
-- column cell: number of the cell in which it was queued (chart_cells), number
-- column dev: block device, id
-- column op: read, write, flush, discard or other, text
-- column whose: command, shared or others, text
-- column low_ns: from this latency on, queue to completion, ns
-- column high_ns: up to this one, ns
-- column requests: requests whose completion was seen, count
WITH measured AS (
    SELECT
        least(greatest((q.queue_ns - c.start_ns) // c.cell_ns, 0), c.last_cell) AS cell,
        q.dev,
        q.op,
        q.whose,
        greatest(q.complete_ns - q.queue_ns, 1) AS latency_ns,
        CAST(floor(log2(greatest(q.complete_ns - q.queue_ns, 1))) AS INTEGER) AS guess
    FROM counted_requests q
    CROSS JOIN chart_cells c
    WHERE q.complete_ns IS NOT NULL AND (q.op <> 'write' OR q.bytes > 0)
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
    dev,
    op,
    whose,
    power_ns + CASE WHEN upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE 0 END AS low_ns,
    power_ns + CASE WHEN power_ns > 1 AND NOT upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE power_ns END AS high_ns,
    count(*) AS requests
FROM halves
GROUP BY cell, dev, op, whose, power_ns, upper_half
