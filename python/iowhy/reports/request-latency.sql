-- title: Latency of block requests
-- question: How long do requests take, from queue to completion?
-- stands in for: biolatency, btt's D2C and Q2C
-- filters: since until pid container file
-- column device: block device, text
-- column op: read, write, flush, discard or other, text
-- column whose: command, shared (journal, metadata, flush) or others, text
-- column low_ns: shortest latency of the bucket; NULL for requests whose completion was not seen, ns
-- column high_ns: first latency above the bucket, ns
-- column requests: requests in the bucket, count
-- column share: of the requests of this device, operation and whose whose completion was seen, share
-- column cumulative_share: share of requests up to this bucket, share
-- column total_ns: latencies of these requests, ns
-- column device_ns: of total_ns, after they were issued to the driver, ns
WITH measured AS (
    SELECT
        coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
            AS device,
        q.op,
        q.whose,
        q.complete_ns - q.queue_ns AS latency_ns,
        q.complete_ns - q.issue_ns AS device_ns,
        CAST(floor(log2(greatest(q.complete_ns - q.queue_ns, 1))) AS BIGINT) AS guess
    FROM counted_requests q
    LEFT JOIN devices d ON d.dev = q.dev
    -- A write of nothing asks for a flush, which is there as a request of its own.
    WHERE q.op <> 'write' OR q.bytes > 0
), bucketed AS (
    -- A logarithm may miss an exact power of two by one: the comparison with the power itself does not.
    SELECT
        device,
        op,
        whose,
        CASE WHEN latency_ns IS NOT NULL THEN CAST(pow(2, CASE
            WHEN pow(2, guess) > greatest(latency_ns, 1) THEN guess - 1
            WHEN pow(2, guess + 1) <= latency_ns THEN guess + 1
            ELSE guess
        END) AS BIGINT) END AS low_ns,
        latency_ns,
        device_ns
    FROM measured
), counted AS (
    SELECT
        device, op, whose, low_ns, low_ns * 2 AS high_ns, count(*) AS requests,
        sum(latency_ns) AS total_ns, sum(device_ns) AS device_ns
    FROM bucketed
    GROUP BY device, op, whose, low_ns
    UNION ALL
    SELECT coalesce(dev, 'all'), 'any', coalesce(comm, 'all'), low, high, sum(count), NULL, NULL
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
    device_ns
FROM counted
ORDER BY device, op, whose, low_ns
