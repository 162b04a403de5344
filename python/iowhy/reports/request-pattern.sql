-- title: Where requests go
-- question: Are the requests of each device sequential, and how far does it jump?
-- stands in for: seekwatcher, btt, submit_bio probes
-- about: device op whose requests mean_bytes seek_share p50_seek_bytes
-- column device: block device, text
-- column op: read or write, text
-- column whose: command, shared (journal, metadata) or others, text
-- column requests: requests with a place on the device, count
-- column bytes: their bytes, bytes
-- column mean_bytes: mean size, bytes
-- column p50_bytes: median size, bytes
-- column sequential_share: begins where the request that the device was sent before (anybody's) ended, share
-- column seek_share: does not, share
-- column p50_seek_bytes: median distance of those that do not, bytes
-- column p90_seek_bytes: 90th percentile of that distance, bytes
-- column backward_share: of those that do not, towards lower addresses, share
-- Requests are taken in the order in which they were issued to the driver, whoever made them.
WITH summed AS (
    SELECT
        dev,
        op,
        whose,
        count(*) AS requests,
        sum(bytes) AS bytes,
        count(seek_bytes) AS steps,
        count(*) FILTER (WHERE seek_bytes <> 0) AS seeks,
        count(*) FILTER (WHERE seek_bytes < 0) AS backward
    FROM request_sequence
    GROUP BY dev, op, whose
)
SELECT
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
        AS device,
    q.op,
    q.whose,
    q.requests,
    q.bytes,
    q.bytes / q.requests AS mean_bytes,
    l.p50_bytes,
    (q.steps - q.seeks) / nullif(q.steps, 0) AS sequential_share,
    q.seeks / nullif(q.steps, 0) AS seek_share,
    k.p50_bytes AS p50_seek_bytes,
    k.p90_bytes AS p90_seek_bytes,
    q.backward / nullif(q.seeks, 0) AS backward_share
FROM summed q
LEFT JOIN devices d ON d.dev = q.dev
LEFT JOIN request_size_percentiles l ON l.dev = q.dev AND l.op = q.op AND l.whose = q.whose AND l.what = 'bytes'
LEFT JOIN request_size_percentiles k ON k.dev = q.dev AND k.op = q.op AND k.whose = q.whose AND k.what = 'seek'
ORDER BY q.bytes DESC, device, q.op, q.whose
