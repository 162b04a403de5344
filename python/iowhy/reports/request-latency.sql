-- title: Latency of block requests
-- question: How long do requests take, from queue to completion?
-- stands in for: biolatency, btt's D2C and Q2C
-- histogram: requests from low_ns to high_ns by device op whose
-- filters: since until pid container file device
-- about: device op whose low_ns high_ns requests share
-- column device: block device, text
-- column op: read, write, flush, discard or other, text
-- column whose: command, shared (journal, metadata, flush) or others, text
-- column low_ns: shortest latency of the bucket, a power of two or one and a half of it; NULL for requests whose completion was not seen, ns
-- column high_ns: first latency above the bucket, ns
-- column requests: requests in the bucket, count
-- column share: of the requests of this device, operation and whose whose completion was seen, share
-- column cumulative_share: share of requests up to this bucket, share
-- column total_ns: latencies of these requests, ns
-- column device_ns: of total_ns, after they were issued to the driver, ns
-- column p50_ns: median of this device, operation and whose, the same in each of its buckets, ns
-- column p90_ns: 90th percentile of them, ns
-- column p99_ns: 99th percentile of them, ns
-- column p999_ns: 99.9th percentile of them, ns
-- column max_ns: longest of them, ns
WITH measured AS (
    SELECT
        q.dev,
        q.op,
        q.whose,
        q.complete_ns - q.queue_ns AS latency_ns,
        q.complete_ns - q.issue_ns AS device_ns,
        CAST(floor(log2(greatest(q.complete_ns - q.queue_ns, 1))) AS INTEGER) AS guess
    FROM counted_requests q
    -- A write of nothing asks for a flush, which is there as its own request.
    WHERE q.op <> 'write' OR q.bytes > 0
), octaves AS (
    -- A logarithm may miss an exact power of two by one: then what is left of the duration is not 1.
    SELECT
        dev,
        op,
        whose,
        CASE WHEN latency_ns IS NOT NULL THEN CAST(1 AS BIGINT) << CAST(
            CASE greatest(latency_ns, 1) >> guess WHEN 1 THEN guess WHEN 0 THEN guess - 1 ELSE guess + 1 END AS INTEGER
        ) END AS power_ns,
        latency_ns,
        device_ns
    FROM measured
), bucketed AS (
    SELECT
        dev,
        op,
        whose,
        power_ns,
        power_ns > 1 AND latency_ns * 2 >= power_ns * 3 AS upper_half,
        latency_ns,
        device_ns
    FROM octaves
), counted AS (
    SELECT
        dev,
        op,
        whose,
        power_ns + CASE WHEN upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE 0 END AS low_ns,
        power_ns + CASE WHEN power_ns > 1 AND NOT upper_half THEN CAST(power_ns / 2 AS BIGINT) ELSE power_ns END
            AS high_ns,
        count(*) AS requests,
        sum(latency_ns) AS total_ns,
        sum(device_ns) AS device_ns
    FROM bucketed
    GROUP BY dev, op, whose, power_ns, upper_half
), named AS (
    SELECT
        coalesce(d.name, CAST(c.dev >> 20 AS VARCHAR) || ':' || CAST(c.dev & 1048575 AS VARCHAR))
            AS device,
        c.op, c.whose, c.low_ns, c.high_ns, c.requests, c.total_ns, c.device_ns,
        p.p50_ns, p.p90_ns, p.p99_ns, p.p999_ns, p.max_ns
    FROM counted c
    LEFT JOIN devices d ON d.dev = c.dev
    LEFT JOIN request_percentiles p ON p.dev = c.dev AND p.op = c.op AND p.whose = c.whose
    UNION ALL
    SELECT
        coalesce(dev, 'all'), 'any', coalesce(comm, 'all'), low, high, sum(count),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM histograms
    WHERE metric = 'request_latency_ns'
    GROUP BY coalesce(dev, 'all'), coalesce(comm, 'all'), low, high
)
SELECT
    device,
    op,
    whose,
    low_ns,
    high_ns,
    requests,
    CASE WHEN low_ns IS NOT NULL THEN
        requests / nullif(sum(CASE WHEN low_ns IS NOT NULL THEN requests END)
            OVER (PARTITION BY device, op, whose), 0)
    END AS share,
    CASE WHEN low_ns IS NOT NULL THEN
        sum(requests) OVER (
            PARTITION BY device, op, whose ORDER BY low_ns ROWS UNBOUNDED PRECEDING
        ) / nullif(sum(CASE WHEN low_ns IS NOT NULL THEN requests END)
            OVER (PARTITION BY device, op, whose), 0)
    END AS cumulative_share,
    total_ns,
    device_ns,
    p50_ns,
    p90_ns,
    p99_ns,
    p999_ns,
    max_ns
FROM named
ORDER BY device, op, whose, low_ns
