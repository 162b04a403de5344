-- title: How long the calls of one name took: the middle, and what few exceed
-- Between two calls the value lies on the line between theirs, as quantile_cont has it. That keeps every value in
-- memory; here each length is counted once, and what does not fit lies on disk.
-- column name: system call, text
-- column p50_ns: median duration, ns
-- column p99_ns: 99th percentile of the duration, ns
WITH counted AS (
    SELECT name, dur_ns, count(*) AS calls FROM syscalls GROUP BY name, dur_ns
), ranked AS (
    SELECT
        name,
        dur_ns,
        sum(calls) OVER (PARTITION BY name ORDER BY dur_ns) AS upto,
        sum(calls) OVER (PARTITION BY name) - 1 AS last
    FROM counted
), around AS (
    -- The calls of a name have the numbers 0 to last; upto is the number of the next longer one.
    SELECT
        name,
        max(last) AS last,
        min(CASE WHEN upto > floor(0.5 * last) THEN dur_ns END) AS p50_low_ns,
        min(CASE WHEN upto > ceil(0.5 * last) THEN dur_ns END) AS p50_high_ns,
        min(CASE WHEN upto > floor(0.99 * last) THEN dur_ns END) AS p99_low_ns,
        min(CASE WHEN upto > ceil(0.99 * last) THEN dur_ns END) AS p99_high_ns
    FROM ranked
    GROUP BY name
)
SELECT
    name,
    p50_low_ns + (p50_high_ns - p50_low_ns) * (0.5 * last - floor(0.5 * last)) AS p50_ns,
    p99_low_ns + (p99_high_ns - p99_low_ns) * (0.99 * last - floor(0.99 * last)) AS p99_ns
FROM around
