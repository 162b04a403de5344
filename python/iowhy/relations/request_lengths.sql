-- title: The sizes, and the seeks, of a device's requests: the middle, and what few exceed
-- Between two requests the value lies on the line between theirs, as quantile_cont has it. That keeps every value in
-- memory; here values are first counted in buckets of two per cent, and only those of the buckets that hold the asked
-- ones are looked at one by one: exact, in a memory that does not grow with the rows.
-- column dev: block device, id
-- column op: read or write, text
-- column whose: command, shared or others, text
-- column what: bytes: their sizes; seek: the distances of those that do not follow the one before them, text
-- column p50_bytes: median, bytes
-- column p90_bytes: 90th percentile, bytes
WITH bucketed AS NOT MATERIALIZED (
    SELECT dev, op, whose, what, value, CAST(floor(32 * log2(greatest(value, 1))) AS BIGINT) AS bucket
    FROM (
        SELECT dev, op, whose, 'bytes' AS what, bytes AS value FROM request_sequence
        UNION ALL
        SELECT dev, op, whose, 'seek', abs(seek_bytes) FROM request_sequence WHERE seek_bytes <> 0
    ) AS q
), counted AS (
    SELECT dev, op, whose, what, bucket, count(*) AS rows FROM bucketed GROUP BY dev, op, whose, what, bucket
), placed AS (
    SELECT
        dev, op, whose, what, bucket, rows,
        sum(rows) OVER (PARTITION BY dev, op, whose, what ORDER BY bucket) AS upto,
        sum(rows) OVER (PARTITION BY dev, op, whose, what) - 1 AS last
    FROM counted
), wanted AS (
    -- The rows have the numbers 0 to last in the order of their values; upto is that of the first one behind the bucket.
    SELECT dev, op, whose, what, bucket, upto - rows AS before, last
    FROM placed
    WHERE (upto - rows <= ceil(0.5 * last) AND upto > floor(0.5 * last))
        OR (upto - rows <= ceil(0.9 * last) AND upto > floor(0.9 * last))
), distinct_values AS (
    SELECT b.dev, b.op, b.whose, b.what, b.bucket, b.value, count(*) AS rows
    FROM bucketed b
    JOIN wanted w ON w.dev = b.dev AND w.op = b.op AND w.whose = b.whose AND w.what = b.what AND w.bucket = b.bucket
    GROUP BY b.dev, b.op, b.whose, b.what, b.bucket, b.value
), ranked AS (
    SELECT
        v.dev, v.op, v.whose, v.what, v.value, w.last,
        w.before + sum(v.rows) OVER (PARTITION BY v.dev, v.op, v.whose, v.what, v.bucket ORDER BY v.value) AS upto
    FROM distinct_values v
    JOIN wanted w ON w.dev = v.dev AND w.op = v.op AND w.whose = v.whose AND w.what = v.what AND w.bucket = v.bucket
), around AS (
    SELECT
        dev, op, whose, what,
        max(last) AS last,
        min(CASE WHEN upto > floor(0.5 * last) THEN value END) AS p50_low,
        min(CASE WHEN upto > ceil(0.5 * last) THEN value END) AS p50_high,
        min(CASE WHEN upto > floor(0.9 * last) THEN value END) AS p90_low,
        min(CASE WHEN upto > ceil(0.9 * last) THEN value END) AS p90_high
    FROM ranked
    GROUP BY dev, op, whose, what
)
SELECT
    dev, op, whose, what,
    p50_low + (p50_high - p50_low) * (0.5 * last - floor(0.5 * last)) AS p50_bytes,
    p90_low + (p90_high - p90_low) * (0.9 * last - floor(0.9 * last)) AS p90_bytes
FROM around
