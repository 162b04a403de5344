-- title: What each file cost at each layer: asked, cached, written, requested, laid out
-- Files that came and went under one path are one row. NULL where nothing of that layer is there.
-- column path: path when first seen, text
-- column dev: device number of the filesystem, id
-- column ino: inode; NULL of several, id
-- column inodes: files that had this path one after the other, count
-- column kind: file, directory, device or unknown, text
-- column size_bytes: size at the end, bytes
-- column deleted: was gone at the end, bool
-- column calls: system calls on it, count
-- column data_calls: of these, those that move data, and operations of io_uring and libaio that do, count
-- column time_ns: durations of the calls, ns
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column blocked_ns: of time_ns, in uninterruptible sleep, ns
-- column read_bytes: bytes that reads returned, those of io_uring and libaio too, bytes
-- column written_bytes: bytes that writes accepted, those of io_uring and libaio too, bytes
-- column lookup_pages: page cache lookups by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column readahead_pages: pages read ahead of demand, pages
-- column dirtied_pages: pages made dirty, pages
-- column faults: page faults on it, count
-- column requests: block requests that it owns, on the disk of its filesystem, count
-- column request_bytes: their bytes, bytes
-- column request_ns: from queue to completion, summed, ns
-- column direct_bytes: of request_bytes, past the page cache, bytes
-- column jumps: requests that did not begin where the command's request before it of the same direction ended, count
-- column steps: requests of which that is known, count
-- column extents_before: contiguous runs on disk before the command, count
-- column extents_after: contiguous runs on disk after the command, count
-- column container: container or service whose processes made calls on it; empty: those of none; NULL: of several, or not known, text
WITH asked AS (
    -- The range of an msync is what may be dirty of a mapping, not what was changed: no call tells that.
    SELECT
        s.dev,
        s.ino,
        sum(s.calls) AS calls,
        sum(CASE
            WHEN k.kind IN ('read', 'write', 'copy') AND s.name <> 'readahead' THEN s.calls
            ELSE 0
        END) AS data_calls,
        sum(s.total_ns) AS time_ns,
        sum(CASE WHEN k.kind = 'sync' THEN s.total_ns ELSE 0 END) AS sync_ns,
        sum(s.blocked_ns) AS blocked_ns,
        sum(CASE WHEN k.kind IN ('read', 'copy') THEN coalesce(s.done_bytes, 0) ELSE 0 END) AS read_bytes,
        sum(CASE WHEN k.kind = 'write' THEN coalesce(s.done_bytes, 0) ELSE 0 END) AS written_bytes,
        min(CASE WHEN p.in_none THEN '' ELSE p.container END) AS first_container,
        max(CASE WHEN p.in_none THEN '' ELSE p.container END) AS last_container
    FROM call_addends s
    LEFT JOIN call_kinds k ON k.name = s.name
    LEFT JOIN named_processes p ON p.tgid = s.tgid
    WHERE s.ino IS NOT NULL
    GROUP BY s.dev, s.ino
), operations AS (
    SELECT
        dev,
        ino,
        sum(CASE WHEN kind IN ('read', 'write') THEN operations ELSE 0 END) AS data_operations,
        sum(CASE WHEN kind = 'read' THEN moved_bytes ELSE 0 END) AS read_bytes,
        sum(CASE WHEN kind = 'write' THEN moved_bytes ELSE 0 END) AS written_bytes
    FROM async_totals
    WHERE ino IS NOT NULL
    GROUP BY dev, ino
), cached AS (
    SELECT *, coalesce(major_faults, 0) + coalesce(minor_faults, 0) AS faults
    FROM file_cache
    WHERE ino IS NOT NULL
), requested AS (
    SELECT
        owner_dev AS dev,
        owner_ino AS ino,
        sum(requests) AS requests,
        sum(bytes) AS request_bytes,
        sum(time_ns) AS request_ns,
        sum(direct_bytes) AS direct_bytes,
        sum(jumps) AS jumps,
        sum(steps) AS steps
    FROM file_requests
    GROUP BY owner_dev, owner_ino
), runs AS (
    SELECT
        dev,
        ino,
        max(CASE WHEN phase = 'before' THEN extents END) AS extents_before,
        max(CASE WHEN phase = 'after' THEN extents END) AS extents_after
    FROM file_layout
    WHERE extents IS NOT NULL
    GROUP BY dev, ino
), ids AS (
    SELECT dev, ino FROM asked
    UNION
    SELECT dev, ino FROM operations
    UNION
    SELECT dev, ino FROM cached
    UNION
    SELECT dev, ino FROM requested
    UNION
    SELECT dev, ino FROM runs
)
SELECT
    n.path,
    i.dev,
    CASE WHEN count(*) = 1 THEN max(i.ino) END AS ino,
    count(*) AS inodes,
    max(n.kind) AS kind,
    max(n.size_bytes) AS size_bytes,
    min(n.deleted) AS deleted,
    sum(a.calls) AS calls,
    coalesce(sum(a.data_calls), 0) + coalesce(sum(o.data_operations), 0) AS data_calls,
    sum(a.time_ns) AS time_ns,
    sum(a.sync_ns) AS sync_ns,
    sum(a.blocked_ns) AS blocked_ns,
    coalesce(sum(a.read_bytes), 0) + coalesce(sum(o.read_bytes), 0) AS read_bytes,
    coalesce(sum(a.written_bytes), 0) + coalesce(sum(o.written_bytes), 0) AS written_bytes,
    sum(c.lookup_pages) AS lookup_pages,
    sum(c.miss_pages) AS miss_pages,
    sum(c.readahead_pages) AS readahead_pages,
    sum(c.dirtied_pages) AS dirtied_pages,
    sum(c.faults) AS faults,
    sum(q.requests) AS requests,
    sum(q.request_bytes) AS request_bytes,
    sum(q.request_ns) AS request_ns,
    sum(q.direct_bytes) AS direct_bytes,
    sum(q.jumps) AS jumps,
    sum(q.steps) AS steps,
    sum(e.extents_before) AS extents_before,
    sum(e.extents_after) AS extents_after,
    CASE WHEN min(a.first_container) = max(a.last_container) THEN max(a.last_container) END AS container
FROM ids i
LEFT JOIN named_files n ON n.dev = i.dev AND n.ino = i.ino
LEFT JOIN asked a ON a.dev = i.dev AND a.ino = i.ino
LEFT JOIN operations o ON o.dev = i.dev AND o.ino = i.ino
LEFT JOIN cached c ON c.dev = i.dev AND c.ino = i.ino
LEFT JOIN requested q ON q.dev = i.dev AND q.ino = i.ino
LEFT JOIN runs e ON e.dev = i.dev AND e.ino = i.ino
WHERE n.kind IS NULL OR n.kind NOT IN ('pipe', 'socket', 'anonymous')
GROUP BY i.dev, n.path, CASE WHEN n.path IS NULL THEN i.ino END
