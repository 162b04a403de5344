-- title: Sizes of block requests
-- question: How large are the requests that reach each device?
-- stands in for: bitesize, iosnoop's size column
-- histogram: requests from low_bytes to high_bytes by device op whose
-- filters: since until pid container file device
-- about: device op whose low_bytes high_bytes requests share
-- column device: block device, text
-- column op: read, write, discard or other, text
-- column whose: command, shared (journal, metadata, flush) or others, text
-- column low_bytes: smallest size of the bucket, bytes
-- column high_bytes: first size above the bucket, bytes
-- column requests: requests in the bucket, count
-- column share: of the requests of this device, operation and whose, share
-- column cumulative_share: share of requests up to this bucket, share
-- column bytes: bytes of these requests, bytes
WITH measured AS (
    SELECT
        coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
            AS device,
        q.op,
        q.whose,
        q.bytes,
        CAST(floor(log2(q.bytes)) AS BIGINT) AS guess
    FROM counted_requests q
    LEFT JOIN devices d ON d.dev = q.dev
    WHERE q.bytes > 0
), bucketed AS (
    -- A logarithm may miss an exact power of two by one: the comparison with the power itself does not.
    SELECT
        device,
        op,
        whose,
        CAST(pow(2, CASE
            WHEN pow(2, guess) > bytes THEN guess - 1
            WHEN pow(2, guess + 1) <= bytes THEN guess + 1
            ELSE guess
        END) AS BIGINT) AS low_bytes,
        bytes
    FROM measured
), counted AS (
    SELECT device, op, whose, low_bytes, low_bytes * 2 AS high_bytes, count(*) AS requests, sum(bytes) AS bytes
    FROM bucketed
    GROUP BY device, op, whose, low_bytes
    UNION ALL
    SELECT coalesce(dev, 'all'), 'any', coalesce(comm, 'all'), low, high, sum(count), NULL
    FROM histograms
    WHERE metric = 'request_bytes'
    GROUP BY coalesce(dev, 'all'), coalesce(comm, 'all'), low, high
)
SELECT
    device,
    op,
    whose,
    low_bytes,
    high_bytes,
    requests,
    requests / nullif(sum(requests) OVER (PARTITION BY device, op, whose), 0) AS share,
    sum(requests) OVER (
        PARTITION BY device, op, whose ORDER BY low_bytes ROWS UNBOUNDED PRECEDING
    ) / nullif(sum(requests) OVER (PARTITION BY device, op, whose), 0) AS cumulative_share,
    bytes
FROM counted
ORDER BY device, op, whose, low_bytes
