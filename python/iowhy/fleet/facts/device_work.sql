-- title: What the real disks of a recording did: requests with data and flushes, by operation and size
-- column device: block device, text
-- column kind: rotating or not, and its cache, text
-- column op: read, write or flush, text
-- column size_class: power of two below the length of the requests; 0 of flushes, number
-- column requests: requests whose end was seen, count
-- column total_ns: from queue to completion, summed, ns
-- column median_ns: of one, the median, ns
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
)
SELECT
    d.name AS device,
    CASE WHEN d.rotational THEN 'rotating' WHEN NOT d.rotational THEN 'not rotating' ELSE 'unknown' END
        || coalesce(', ' || d.write_cache, '') AS kind,
    e.op,
    e.size_class,
    count(*) AS requests,
    sum(e.time_ns) AS total_ns,
    quantile_cont(CAST(e.time_ns AS DOUBLE), 0.5) AS median_ns
FROM ended e
JOIN devices d ON d.dev = e.dev
WHERE d.below_dev IS NULL
GROUP BY d.name, d.rotational, d.write_cache, e.op, e.size_class
