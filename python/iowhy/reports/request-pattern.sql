-- title: Where requests go
-- question: Are the requests of each device sequential, and how far does it jump?
-- stands in for: seekwatcher, btt, submit_bio probes
-- column device: block device, text
-- column op: read or write, text
-- column whose: command, shared (journal, metadata) or others, text
-- column requests: requests with a place on the device, count
-- column bytes: their bytes, bytes
-- column mean_bytes: mean size, bytes
-- column p50_bytes: median size, bytes
-- column sequential_share: begins where the device's previous request (anybody's) ended, share
-- column seek_share: does not, share
-- column p50_seek_bytes: median distance of those that do not, bytes
-- column p90_seek_bytes: 90th percentile of that distance, bytes
-- column backward_share: of those that do not, towards lower addresses, share
-- Requests are taken in the order in which they were issued to the driver, whoever made them.
SELECT
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
        AS device,
    q.op,
    q.whose,
    count(*) AS requests,
    sum(q.bytes) AS bytes,
    sum(q.bytes) / count(*) AS mean_bytes,
    quantile_cont(q.bytes, 0.5) AS p50_bytes,
    count(*) FILTER (WHERE q.seek_bytes = 0) / nullif(count(q.seek_bytes), 0) AS sequential_share,
    count(*) FILTER (WHERE q.seek_bytes <> 0) / nullif(count(q.seek_bytes), 0) AS seek_share,
    quantile_cont(CASE WHEN q.seek_bytes <> 0 THEN abs(q.seek_bytes) END, 0.5) AS p50_seek_bytes,
    quantile_cont(CASE WHEN q.seek_bytes <> 0 THEN abs(q.seek_bytes) END, 0.9) AS p90_seek_bytes,
    count(*) FILTER (WHERE q.seek_bytes < 0) / nullif(count(*) FILTER (WHERE q.seek_bytes <> 0), 0)
        AS backward_share
FROM request_sequence q
LEFT JOIN devices d ON d.dev = q.dev
GROUP BY 1, 2, 3
ORDER BY bytes DESC, device, op, whose
