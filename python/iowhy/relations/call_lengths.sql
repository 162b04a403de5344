-- title: How long the calls of one name took: the middle, and what few exceed
-- Between two calls the value lies on the line between theirs, as quantile_cont has it. That keeps every value in
-- memory; here values are first counted in buckets of two per cent, and only those of the buckets that hold the asked
-- ones are looked at one by one: exact, in a memory that does not grow with the rows.
-- column name: system call, text
-- column p50_ns: median duration, ns
-- column p90_ns: 90th percentile of the duration, ns
-- column p99_ns: 99th percentile of the duration, ns
-- column p999_ns: 99.9th percentile of the duration, ns
-- column max_ns: longest, ns
WITH points AS (
    SELECT 500 AS point UNION ALL SELECT 900 UNION ALL SELECT 990 UNION ALL SELECT 999
), bucketed AS NOT MATERIALIZED (
    SELECT name, value, CAST(floor(32 * log2(greatest(value, 1))) AS BIGINT) AS bucket
    FROM (SELECT name, dur_ns AS value FROM syscalls) AS c
), counted AS (
    SELECT name, bucket, count(*) AS rows, max(value) AS max_ns FROM bucketed GROUP BY name, bucket
), placed AS (
    SELECT
        name, bucket, rows,
        sum(rows) OVER (PARTITION BY name ORDER BY bucket) AS upto,
        sum(rows) OVER (PARTITION BY name) - 1 AS last,
        max(max_ns) OVER (PARTITION BY name) AS max_ns
    FROM counted
), wanted AS (
    -- The rows have the numbers 0 to last in the order of their values; upto is that of the first one behind the bucket.
    SELECT DISTINCT b.name, b.bucket, b.upto - b.rows AS before, b.last, b.max_ns
    FROM placed b
    CROSS JOIN points p
    WHERE b.upto - b.rows <= ceil(p.point * b.last / 1000.0) AND b.upto > floor(p.point * b.last / 1000.0)
), distinct_values AS (
    SELECT b.name, b.bucket, b.value, count(*) AS rows
    FROM bucketed b
    JOIN wanted w ON w.name = b.name AND w.bucket = b.bucket
    GROUP BY b.name, b.bucket, b.value
), ranked AS (
    SELECT
        v.name, v.value, w.last, w.max_ns,
        w.before + sum(v.rows) OVER (PARTITION BY v.name, v.bucket ORDER BY v.value) AS upto
    FROM distinct_values v
    JOIN wanted w ON w.name = v.name AND w.bucket = v.bucket
), around AS (
    SELECT
        r.name, p.point,
        max(r.max_ns) AS max_ns,
        max(p.point * r.last / 1000.0 - floor(p.point * r.last / 1000.0)) AS part,
        min(CASE WHEN r.upto > floor(p.point * r.last / 1000.0) THEN r.value END) AS low,
        min(CASE WHEN r.upto > ceil(p.point * r.last / 1000.0) THEN r.value END) AS high
    FROM ranked r
    CROSS JOIN points p
    GROUP BY r.name, p.point
)
SELECT
    name,
    max(CASE WHEN point = 500 THEN low + (high - low) * part END) AS p50_ns,
    max(CASE WHEN point = 900 THEN low + (high - low) * part END) AS p90_ns,
    max(CASE WHEN point = 990 THEN low + (high - low) * part END) AS p99_ns,
    max(CASE WHEN point = 999 THEN low + (high - low) * part END) AS p999_ns,
    max(max_ns) AS max_ns
FROM around
GROUP BY name
