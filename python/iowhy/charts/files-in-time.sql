-- title: Files
-- question: Which files cost what in the chosen time?
-- report: files
-- draws: narrowed
-- place: 210
-- needs: syscalls or block_requests
-- The sixty files with most time in calls and requests, by when these began.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column path: file, text
-- column calls: system calls on it, count
-- column time_ns: their durations, ns
-- column requests: requests that it owns, count
-- column request_bytes: their bytes, bytes
-- column request_ns: their time from queue to completion, ns
WITH events AS (
    SELECT ts_ns, dev, ino, 1 AS calls, dur_ns AS time_ns, 0 AS requests, 0 AS bytes, 0 AS request_ns
    FROM syscalls
    WHERE ino IS NOT NULL
    UNION ALL
    SELECT queue_ns, owner_dev, owner_ino, 0, 0, 1, bytes, coalesce(complete_ns - queue_ns, 0)
    FROM counted_requests
    WHERE counted AND owner_ino IS NOT NULL AND whose <> 'others'
), named AS (
    SELECT e.*, coalesce(f.path, 'name not known') AS path
    FROM events e
    LEFT JOIN named_files f ON f.dev = e.dev AND f.ino = e.ino
    WHERE f.kind IS NULL OR f.kind NOT IN ('pipe', 'socket', 'anonymous')
), heaviest AS (
    SELECT path FROM named GROUP BY path ORDER BY sum(time_ns + request_ns) DESC, path LIMIT 60
)
SELECT
    greatest(least((n.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    n.path,
    CAST(sum(n.calls) AS BIGINT) AS calls,
    CAST(sum(n.time_ns) AS BIGINT) AS time_ns,
    CAST(sum(n.requests) AS BIGINT) AS requests,
    CAST(sum(n.bytes) AS BIGINT) AS request_bytes,
    CAST(sum(n.request_ns) AS BIGINT) AS request_ns
FROM named n
CROSS JOIN chart_cells c
JOIN heaviest h ON h.path = n.path
GROUP BY greatest(least((n.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), n.path
ORDER BY time_ns DESC, n.path, at_s
