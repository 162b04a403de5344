-- title: Files
-- question: Which files cost what in the chosen time?
-- report: files
-- draws: narrowed
-- place: 210
-- needs: syscalls or block_requests
-- heaviest: 60 by sum(time_ns + request_ns) DESC
-- The sixty files with most time in calls and requests, by when these began.
-- column path: file, text
-- column calls: system calls on it, count
-- column time_ns: their durations, ns
-- column requests: requests that it owns, count
-- column request_bytes: their bytes, bytes
-- column request_ns: their time from queue to completion, ns
SELECT e.*, coalesce(f.path, 'name not known') AS path
FROM (
    SELECT ts_ns, dev, ino, 1 AS calls, dur_ns AS time_ns, 0 AS requests, 0 AS request_bytes, 0 AS request_ns
    FROM file_operations
    WHERE dur_ns IS NOT NULL AND ino IS NOT NULL
    UNION ALL
    SELECT queue_ns, owner_dev, owner_ino, 0, 0, 1, bytes, coalesce(complete_ns - queue_ns, 0)
    FROM counted_requests
    WHERE counted AND owner_ino IS NOT NULL AND whose <> 'others'
) e
LEFT JOIN named_files f ON f.dev = e.dev AND f.ino = e.ino
WHERE f.kind IS NULL OR f.kind NOT IN ('pipe', 'socket', 'anonymous')
