-- title: Latency of system calls
-- question: How long do the calls of one name take, from entry to exit?
-- stands in for: ext4dist, xfsdist, funclatency, vfsstat
-- histogram: calls from low_ns to high_ns by name
-- about: name low_ns high_ns calls share total_ns
-- column name: system call; io_uring or libaio and the operation, text
-- column low_ns: shortest duration of the bucket, a power of two or one and a half of it, ns
-- column high_ns: first duration above the bucket, ns
-- column calls: calls in the bucket, count
-- column share: of the calls of this name, share
-- column cumulative_share: share of calls up to this bucket, share
-- column total_ns: their durations, ns
-- column p50_ns: median of this name, the same in each of its buckets, ns
-- column p90_ns: 90th percentile of this name, ns
-- column p99_ns: 99th percentile of this name, ns
-- column p999_ns: 99.9th percentile of this name, ns
-- column max_ns: longest of this name, ns
-- Only I/O calls are kept one by one; so are operations of io_uring and libaio. A call that had not returned when the recording ended is as long as it was seen.
WITH measured AS (
    SELECT name, dur_ns, CAST(floor(log2(greatest(dur_ns, 1))) AS INTEGER) AS guess
    FROM file_operations
    WHERE dur_ns IS NOT NULL
), octaves AS (
    -- A logarithm may miss an exact power of two by one: then what is left of the duration is not 1.
    SELECT
        name,
        CAST(1 AS BIGINT) << CAST(
            CASE greatest(dur_ns, 1) >> guess WHEN 1 THEN guess WHEN 0 THEN guess - 1 ELSE guess + 1 END AS INTEGER
        ) AS power_ns,
        dur_ns
    FROM measured
), bucketed AS (
    SELECT name, power_ns, power_ns > 1 AND dur_ns * 2 >= power_ns * 3 AS upper_half, dur_ns FROM octaves
), counted AS (
    SELECT
        name,
        power_ns + CASE WHEN upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE 0 END AS low_ns,
        power_ns + CASE WHEN power_ns > 1 AND NOT upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE power_ns END
            AS high_ns,
        count(*) AS calls,
        sum(dur_ns) AS total_ns,
        max(dur_ns) AS longest_ns
    FROM bucketed
    GROUP BY name, power_ns, upper_half
), named AS (
    SELECT name, sum(total_ns) AS all_ns FROM counted GROUP BY name
)
SELECT
    c.name,
    c.low_ns,
    c.high_ns,
    c.calls,
    c.calls / nullif(sum(c.calls) OVER (PARTITION BY c.name), 0) AS share,
    sum(c.calls) OVER (PARTITION BY c.name ORDER BY c.low_ns ROWS UNBOUNDED PRECEDING)
        / nullif(sum(c.calls) OVER (PARTITION BY c.name), 0) AS cumulative_share,
    c.total_ns,
    l.p50_ns,
    l.p90_ns,
    l.p99_ns,
    l.p999_ns,
    max(c.longest_ns) OVER (PARTITION BY c.name) AS max_ns
FROM counted c
JOIN named n ON n.name = c.name
LEFT JOIN call_percentiles l ON l.name = c.name
ORDER BY n.all_ns DESC, c.name, c.low_ns
