-- title: Devices
-- question: What did each device do in the chosen time?
-- report: devices
-- draws: narrowed
-- place: 220
-- needs: block_requests
-- Requests that completed, by when they were queued; anybody's.
-- column device: block device, text
-- column reads: reads, count
-- column writes: writes, count
-- column flushes: cache flushes, count
-- column read_bytes: read, bytes
-- column written_bytes: written, bytes
-- column request_ns: time of reads and writes from queue to completion, summed, ns
SELECT
    q.queue_ns AS ts_ns,
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)) AS device,
    CASE WHEN q.op = 'read' THEN 1 ELSE 0 END AS reads,
    CASE WHEN q.op = 'write' THEN 1 ELSE 0 END AS writes,
    CASE WHEN q.op = 'flush' THEN 1 ELSE 0 END AS flushes,
    CASE WHEN q.op = 'read' THEN q.bytes ELSE 0 END AS read_bytes,
    CASE WHEN q.op = 'write' THEN q.bytes ELSE 0 END AS written_bytes,
    CASE WHEN q.op IN ('read', 'write') THEN q.complete_ns - q.queue_ns ELSE 0 END AS request_ns
FROM block_requests q
LEFT JOIN devices d ON d.dev = q.dev
WHERE q.complete_ns IS NOT NULL
