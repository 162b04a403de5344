-- title: How long the sync calls of one name took: the middle, and what few exceed
-- Between two calls the value lies on the line between theirs, as quantile_cont has it. That keeps every value in
-- memory; here values are first counted in buckets of two per cent, and only those of the buckets that hold the asked
-- ones are looked at one by one: exact, in a memory that does not grow with the rows.
-- column name: call, as sync_calls has it, text
-- column p50_ns: median duration, ns
-- column p99_ns: 99th percentile of the duration, ns
WITH bucketed AS NOT MATERIALIZED (
    SELECT name, value, CAST(floor(32 * log2(greatest(value, 1))) AS BIGINT) AS bucket
    FROM (SELECT name, dur_ns AS value FROM sync_calls) AS c
), counted AS (
    SELECT name, bucket, count(*) AS rows FROM bucketed GROUP BY name, bucket
), placed AS (
    SELECT
        name, bucket, rows,
        sum(rows) OVER (PARTITION BY name ORDER BY bucket) AS upto,
        sum(rows) OVER (PARTITION BY name) - 1 AS last
    FROM counted
), wanted AS (
    -- The rows have the numbers 0 to last in the order of their values; upto is that of the first one behind the bucket.
    SELECT name, bucket, upto - rows AS before, last
    FROM placed
    WHERE (upto - rows <= ceil(0.5 * last) AND upto > floor(0.5 * last))
        OR (upto - rows <= ceil(0.99 * last) AND upto > floor(0.99 * last))
), distinct_values AS (
    SELECT b.name, b.bucket, b.value, count(*) AS rows
    FROM bucketed b
    JOIN wanted w ON w.name = b.name AND w.bucket = b.bucket
    GROUP BY b.name, b.bucket, b.value
), ranked AS (
    SELECT
        v.name, v.value, w.last,
        w.before + sum(v.rows) OVER (PARTITION BY v.name, v.bucket ORDER BY v.value) AS upto
    FROM distinct_values v
    JOIN wanted w ON w.name = v.name AND w.bucket = v.bucket
), around AS (
    SELECT
        name,
        max(last) AS last,
        min(CASE WHEN upto > floor(0.5 * last) THEN value END) AS p50_low,
        min(CASE WHEN upto > ceil(0.5 * last) THEN value END) AS p50_high,
        min(CASE WHEN upto > floor(0.99 * last) THEN value END) AS p99_low,
        min(CASE WHEN upto > ceil(0.99 * last) THEN value END) AS p99_high
    FROM ranked
    GROUP BY name
)
SELECT
    name,
    p50_low + (p50_high - p50_low) * (0.5 * last - floor(0.5 * last)) AS p50_ns,
    p99_low + (p99_high - p99_low) * (0.99 * last - floor(0.99 * last)) AS p99_ns
FROM around
