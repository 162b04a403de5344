-- title: Devices
-- question: What did each device do in the chosen time?
-- report: devices
-- draws: narrowed
-- place: 220
-- needs: block_requests
-- Requests that completed, by when they were queued; anybody's.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column device: block device, text
-- column reads: reads, count
-- column writes: writes, count
-- column flushes: cache flushes, count
-- column read_bytes: read, bytes
-- column written_bytes: written, bytes
-- column request_ns: time of reads and writes from queue to completion, summed, ns
SELECT
    greatest(least((q.queue_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    coalesce(max(d.name), CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)) AS device,
    count(CASE WHEN q.op = 'read' THEN 1 END) AS reads,
    count(CASE WHEN q.op = 'write' THEN 1 END) AS writes,
    count(CASE WHEN q.op = 'flush' THEN 1 END) AS flushes,
    CAST(sum(CASE WHEN q.op = 'read' THEN q.bytes ELSE 0 END) AS BIGINT) AS read_bytes,
    CAST(sum(CASE WHEN q.op = 'write' THEN q.bytes ELSE 0 END) AS BIGINT) AS written_bytes,
    CAST(sum(CASE WHEN q.op IN ('read', 'write') THEN q.complete_ns - q.queue_ns ELSE 0 END) AS BIGINT) AS request_ns
FROM block_requests q
CROSS JOIN chart_cells c
LEFT JOIN devices d ON d.dev = q.dev
WHERE q.complete_ns IS NOT NULL
GROUP BY greatest(least((q.queue_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), q.dev
ORDER BY request_ns DESC, device, at_s
