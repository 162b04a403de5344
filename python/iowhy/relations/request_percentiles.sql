-- title: How long a device's requests took: the middle, what few exceed, and the longest
-- Between two requests the value lies on the line between theirs, as quantile_cont has it. As in request_lengths, values
-- are first counted in buckets of two per cent, and only those of the buckets that hold the asked ones are looked at one
-- by one: exact, in a memory that does not grow with the rows. Requests whose completion was not seen are left out, and
-- writes of nothing, whose flush is a request of its own.
-- column dev: block device, id
-- column op: read, write, flush, discard or other, text
-- column whose: command, shared or others, text
-- column p50_ns: median, from queue to completion, ns
-- column p90_ns: 90th percentile, ns
-- column p99_ns: 99th percentile, ns
-- column p999_ns: 99.9th percentile, ns
-- column max_ns: longest, ns
WITH points AS (
    SELECT 500 AS point UNION ALL SELECT 900 UNION ALL SELECT 990 UNION ALL SELECT 999
), bucketed AS NOT MATERIALIZED (
    SELECT dev, op, whose, value, CAST(floor(32 * log2(greatest(value, 1))) AS BIGINT) AS bucket
    FROM (
        SELECT dev, op, whose, complete_ns - queue_ns AS value
        FROM counted_requests
        WHERE complete_ns IS NOT NULL AND (op <> 'write' OR bytes > 0)
    ) AS q
), counted AS (
    SELECT dev, op, whose, bucket, count(*) AS rows, max(value) AS max_ns
    FROM bucketed
    GROUP BY dev, op, whose, bucket
), placed AS (
    SELECT
        dev, op, whose, bucket, rows,
        sum(rows) OVER (PARTITION BY dev, op, whose ORDER BY bucket) AS upto,
        sum(rows) OVER (PARTITION BY dev, op, whose) - 1 AS last,
        max(max_ns) OVER (PARTITION BY dev, op, whose) AS max_ns
    FROM counted
), wanted AS (
    -- The rows have the numbers 0 to last in the order of their values; upto is that of the first one behind the bucket.
    SELECT DISTINCT b.dev, b.op, b.whose, b.bucket, b.upto - b.rows AS before, b.last, b.max_ns
    FROM placed b
    CROSS JOIN points p
    WHERE b.upto - b.rows <= ceil(p.point * b.last / 1000.0) AND b.upto > floor(p.point * b.last / 1000.0)
), distinct_values AS (
    SELECT b.dev, b.op, b.whose, b.bucket, b.value, count(*) AS rows
    FROM bucketed b
    JOIN wanted w ON w.dev = b.dev AND w.op = b.op AND w.whose = b.whose AND w.bucket = b.bucket
    GROUP BY b.dev, b.op, b.whose, b.bucket, b.value
), ranked AS (
    SELECT
        v.dev, v.op, v.whose, v.value, w.last, w.max_ns,
        w.before + sum(v.rows) OVER (PARTITION BY v.dev, v.op, v.whose, v.bucket ORDER BY v.value) AS upto
    FROM distinct_values v
    JOIN wanted w ON w.dev = v.dev AND w.op = v.op AND w.whose = v.whose AND w.bucket = v.bucket
), around AS (
    SELECT
        r.dev, r.op, r.whose, p.point,
        max(r.max_ns) AS max_ns,
        max(p.point * r.last / 1000.0 - floor(p.point * r.last / 1000.0)) AS part,
        min(CASE WHEN r.upto > floor(p.point * r.last / 1000.0) THEN r.value END) AS low,
        min(CASE WHEN r.upto > ceil(p.point * r.last / 1000.0) THEN r.value END) AS high
    FROM ranked r
    CROSS JOIN points p
    GROUP BY r.dev, r.op, r.whose, p.point
)
SELECT
    dev,
    op,
    whose,
    max(CASE WHEN point = 500 THEN low + (high - low) * part END) AS p50_ns,
    max(CASE WHEN point = 900 THEN low + (high - low) * part END) AS p90_ns,
    max(CASE WHEN point = 990 THEN low + (high - low) * part END) AS p99_ns,
    max(CASE WHEN point = 999 THEN low + (high - low) * part END) AS p999_ns,
    max(max_ns) AS max_ns
FROM around
GROUP BY dev, op, whose
