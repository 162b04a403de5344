-- title: What the real disks of a recording did: requests with data and flushes, by operation and size
-- column device: block device, text
-- column kind: its model, rotating or not, and its cache, text
-- column told_by: recording (each request), or agent (its counts), text
-- column op: read, write or flush, text
-- column size_class: power of two below the length of the requests, of the agent below the mean of an interval; 0 of flushes, number
-- column requests: requests whose end was seen, count
-- column total_ns: from queue to completion, summed, ns
-- column median_ns: of one, the median; of the agent within its bucket, ns
WITH ended AS (
    SELECT
        q.dev,
        q.op,
        CASE
            WHEN q.op = 'flush' OR q.bytes < 1 THEN 0
            ELSE CAST(floor(log2(CAST(q.bytes AS DOUBLE))) AS BIGINT)
        END AS size_class,
        q.complete_ns - q.queue_ns AS time_ns
    FROM block_requests q
    WHERE q.complete_ns IS NOT NULL AND q.op IN ('read', 'write', 'flush')
), recorded AS (
    SELECT
        dev,
        op,
        size_class,
        count(*) AS requests,
        sum(time_ns) AS total_ns,
        quantile_cont(CAST(time_ns AS DOUBLE), 0.5) AS median_ns
    FROM ended
    GROUP BY dev, op, size_class
), intervals AS (
    SELECT
        ts_ns,
        dev,
        name AS op,
        CASE
            WHEN name = 'flush' OR sum(bytes) < sum(count) THEN 0
            ELSE CAST(floor(log2(CAST(sum(bytes) AS DOUBLE) / sum(count))) AS BIGINT)
        END AS size_class,
        sum(count - untimed) AS requests,
        sum(sum_ns) AS total_ns
    FROM agent_latencies
    WHERE measure = 'request' AND name IN ('read', 'write', 'flush')
    GROUP BY ts_ns, dev, name
), buckets AS (
    SELECT
        i.dev,
        i.op,
        i.size_class,
        coalesce(b.up_to_ns, 68719476736) AS up_to_ns,
        CASE WHEN b.up_to_ns IS NULL THEN 0 ELSE 1 END AS ends,
        sum(b.count) AS times
    FROM agent_buckets b
    JOIN intervals i ON i.ts_ns = b.ts_ns AND i.dev = b.dev AND i.op = b.name
    WHERE b.measure = 'request'
    GROUP BY i.dev, i.op, i.size_class, b.up_to_ns
), ranked AS (
    SELECT
        dev,
        op,
        size_class,
        up_to_ns,
        ends,
        times,
        -- An end is 5, 6, 7 or 8 times a power of two, and the next smaller one the bucket's begin; up to 1024 is the first bucket. The
        -- logarithm of a power of two may be a hair below.
        power(2.0, floor(log2(CAST(up_to_ns AS DOUBLE)) + 0.000000001)) AS power_ns,
        sum(times) OVER (
            PARTITION BY dev, op, size_class ORDER BY up_to_ns, ends DESC ROWS UNBOUNDED PRECEDING
        ) AS upto,
        sum(times) OVER (PARTITION BY dev, op, size_class) AS total
    FROM buckets
), middles AS (
    SELECT
        dev,
        op,
        size_class,
        max(
            up_to_ns - ends * (1 - (total / 2 - (upto - times)) / times) * CASE
                WHEN up_to_ns <= 1024 THEN up_to_ns
                WHEN up_to_ns - power_ns < 1 THEN power_ns / 8
                ELSE power_ns / 4
            END
        ) AS median_ns
    FROM ranked
    WHERE upto * 2 >= total AND (upto - times) * 2 < total
    GROUP BY dev, op, size_class
), work AS (
    SELECT dev, 'recording' AS told_by, op, size_class, requests, total_ns, median_ns FROM recorded
    UNION ALL
    SELECT
        i.dev,
        'agent' AS told_by,
        i.op,
        i.size_class,
        sum(i.requests) AS requests,
        sum(i.total_ns) AS total_ns,
        max(m.median_ns) AS median_ns
    FROM intervals i
    JOIN middles m ON m.dev = i.dev AND m.op = i.op AND m.size_class = i.size_class
    GROUP BY i.dev, i.op, i.size_class
)
SELECT
    d.name AS device,
    coalesce(d.model || ', ', '')
        || CASE WHEN d.rotational THEN 'rotating' WHEN NOT d.rotational THEN 'not rotating' ELSE 'unknown' END
        || coalesce(', ' || d.write_cache, '') AS kind,
    w.told_by,
    w.op,
    w.size_class,
    w.requests,
    w.total_ns,
    w.median_ns
FROM work w
JOIN devices d ON d.dev = w.dev
WHERE d.below_dev IS NULL
