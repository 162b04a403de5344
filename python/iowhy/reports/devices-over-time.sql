-- title: Devices over time
-- question: How did rates, sizes, queue and waits of each device change?
-- stands in for: iostat -x 1
-- small plots: utilisation mean_queue await_ns read_bytes_per_s written_bytes_per_s over at_s by device
-- filters: since until pid container file device
-- about: at_s device utilisation mean_queue await_ns read_bytes_per_s written_bytes_per_s
-- column at_s: begin of the interval, after the start of the recording, s
-- column device: block device, text
-- column reads_per_s: read requests completed, 1/s
-- column writes_per_s: write requests completed, 1/s
-- column read_bytes_per_s: read, bytes/s
-- column written_bytes_per_s: written, bytes/s
-- column mean_bytes: mean size of a read or write, bytes
-- column mean_queue: requests in flight (queue to completion), mean over the interval, number
-- column await_ns: mean read or write, queue to completion, ns
-- column utilisation: share of the interval with at least one request in flight, share
-- column deep_share: share of the interval with at least two requests in flight, share
-- column flushes_per_s: cache flushes completed, 1/s
-- column others_share: of the requests that can be charged to somebody, those of others than the command, share
-- Where requests were not seen, the samples of /proc/diskstats replace them. A device has rows for the intervals in which it did
-- something, or had something to do; in all others it was idle.
SELECT
    m.slice * r.slice_ns / 1e9 AS at_s,
    coalesce(d.name, CAST(m.dev >> 20 AS VARCHAR) || ':' || CAST(m.dev & 1048575 AS VARCHAR))
        AS device,
    m.reads * 1e9 / nullif(m.span_ns, 0) AS reads_per_s,
    m.writes * 1e9 / nullif(m.span_ns, 0) AS writes_per_s,
    m.read_bytes * 1e9 / nullif(m.span_ns, 0) AS read_bytes_per_s,
    m.written_bytes * 1e9 / nullif(m.span_ns, 0) AS written_bytes_per_s,
    (m.read_bytes + m.written_bytes) / nullif(m.reads + m.writes, 0) AS mean_bytes,
    m.area_ns / nullif(m.span_ns, 0) AS mean_queue,
    m.await_ns,
    m.busy_ns / nullif(m.span_ns, 0) AS utilisation,
    m.deep_ns / nullif(m.span_ns, 0) AS deep_share,
    m.flushes * 1e9 / nullif(m.span_ns, 0) AS flushes_per_s,
    m.others_share
FROM device_slices m
CROSS JOIN recording r
LEFT JOIN devices d ON d.dev = m.dev
-- What is in flight for a moment only may take no whole nanosecond.
WHERE m.reads > 0 OR m.writes > 0 OR m.flushes > 0 OR m.busy_ns > 0
ORDER BY at_s, device
