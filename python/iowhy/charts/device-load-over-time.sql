-- title: Devices over time
-- question: How much did each device do, how deep was its queue, how busy was it?
-- report: devices-over-time
-- draws: lines
-- place: 50
-- needs: block_requests or disk_samples
-- Devices that did nothing are left out; the lines of the others go to the end of the run.
-- column at_s: begin of the interval, s
-- column span_s: its length, s
-- column device: block device, text
-- column read_bytes_per_s: read, bytes/s
-- column written_bytes_per_s: written, bytes/s
-- column reads_per_s: read requests completed, 1/s
-- column writes_per_s: write requests completed, 1/s
-- column flushes_per_s: cache flushes completed, 1/s
-- column mean_queue: requests in flight, mean over the interval, number
-- column most_queue: requests in flight, most at once, number
-- column utilisation: of the interval, with a request in flight, share
WITH edges AS (
    SELECT dev, queue_ns AS t_ns, 1 AS step
    FROM block_requests
    WHERE complete_ns IS NOT NULL AND (op <> 'write' OR bytes > 0)
    UNION ALL
    SELECT dev, complete_ns, -1
    FROM block_requests
    WHERE complete_ns IS NOT NULL AND (op <> 'write' OR bytes > 0)
), levels AS (
    SELECT dev, t_ns, sum(step) OVER (PARTITION BY dev ORDER BY t_ns, step ROWS UNBOUNDED PRECEDING) AS depth
    FROM edges
), peaks AS (
    SELECT l.dev, CAST(floor((l.t_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice, max(l.depth) AS depth
    FROM levels l
    CROSS JOIN recording r
    GROUP BY 1, 2
)
SELECT
    m.slice * r.slice_ns / 1e9 AS at_s,
    m.span_ns / 1e9 AS span_s,
    coalesce(d.name, CAST(m.dev >> 20 AS VARCHAR) || ':' || CAST(m.dev & 1048575 AS VARCHAR)) AS device,
    m.read_bytes * 1e9 / nullif(m.span_ns, 0) AS read_bytes_per_s,
    m.written_bytes * 1e9 / nullif(m.span_ns, 0) AS written_bytes_per_s,
    m.reads * 1e9 / nullif(m.span_ns, 0) AS reads_per_s,
    m.writes * 1e9 / nullif(m.span_ns, 0) AS writes_per_s,
    m.flushes * 1e9 / nullif(m.span_ns, 0) AS flushes_per_s,
    m.area_ns / nullif(m.span_ns, 0) AS mean_queue,
    -- Where no request began or ended, as many were in flight all the time.
    coalesce(p.depth, CASE WHEN m.deep_ns IS NOT NULL THEN CAST(round(m.area_ns / nullif(m.span_ns, 0)) AS BIGINT) END)
        AS most_queue,
    m.busy_ns / nullif(m.span_ns, 0) AS utilisation
FROM device_slices m
CROSS JOIN recording r
LEFT JOIN devices d ON d.dev = m.dev
LEFT JOIN peaks p ON p.dev = m.dev AND p.slice = m.slice
WHERE m.dev IN (SELECT dev FROM device_slices GROUP BY dev HAVING sum(reads + writes + coalesce(flushes, 0)) > 0)
ORDER BY device, at_s
