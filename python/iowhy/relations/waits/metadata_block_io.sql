-- title: A wait for a locked block of the filesystem's own that is the block's I/O
-- uses: _metadata_locks, block_requests, devices, filesystems, request_places
-- filtered as: nothing
-- kept: table
-- A block under way to or from the device is locked, as one is that a thread holds: the stack of who waits for it is the
-- same. It is the I/O where a request for such a block on the device of its filesystem was under way for half of the wait or
-- longer, and completed in the last millisecond of it. Of a call that names no file the filesystem is not known: then
-- the request is the command's, or work that is shared.
-- column tid: thread, id
-- column ts_ns: begin of the wait, ns
-- column reason: reason of a wait for that I/O (reasons.toml), text
WITH locked AS (
    SELECT
        w.tid,
        w.ts_ns,
        w.dur_ns,
        w.ts_ns + w.dur_ns AS end_ns,
        CASE
            WHEN f.disk_dev IN (SELECT dev FROM request_places) THEN f.disk_dev
            ELSE coalesce(d.below_dev, f.disk_dev)
        END AS dev
    FROM _metadata_locks w
    LEFT JOIN (SELECT dev, max(disk_dev) AS disk_dev FROM filesystems GROUP BY dev) f ON f.dev = w.dev
    LEFT JOIN (SELECT dev, max(below_dev) AS below_dev FROM devices GROUP BY dev) d ON d.dev = f.disk_dev
), slots AS (
    -- A request that completed in the last millisecond did so in one of two.
    SELECT *, unnest(generate_series(end_ns // 1000000 - 1, end_ns // 1000000)) AS slot FROM locked
), moved AS (
    SELECT dev, op, queue_ns, complete_ns, in_scope, complete_ns // 1000000 AS slot
    FROM block_requests
    WHERE owner_kind = 'metadata' AND op IN ('read', 'write') AND complete_ns IS NOT NULL
)
SELECT
    l.tid,
    l.ts_ns,
    CASE WHEN max(CASE WHEN q.op = 'read' THEN 1 ELSE 0 END) = 1 THEN 'metadata_read' ELSE 'stable_page' END AS reason
FROM slots l
JOIN moved q ON q.slot = l.slot
WHERE (q.dev = l.dev OR (l.dev IS NULL AND q.in_scope IS DISTINCT FROM false))
    AND q.complete_ns <= l.end_ns
    AND q.complete_ns > l.end_ns - 1000000
    AND 2 * (q.complete_ns - greatest(q.queue_ns, l.ts_ns)) >= l.dur_ns
GROUP BY l.tid, l.ts_ns
