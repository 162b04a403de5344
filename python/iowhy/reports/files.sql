-- title: Files
-- question: Which files cost what, at each layer: asked, cached, written, requested, seeks?
-- stands in for: filemon, filetop, fileslower
-- column path: path when first seen, text
-- column calls: system calls on it, count
-- column time_ns: their durations, ns
-- column read_bytes: bytes that reads returned, bytes
-- column written_bytes: bytes that writes accepted, and msync was asked for, bytes
-- column requests: block requests that it owns, on the disk of its filesystem, count
-- column request_bytes: their bytes, bytes
-- column mean_request_bytes: mean size, bytes
-- column seek_share: requests that did not begin where the device's previous one ended, share
-- column lookup_pages: page cache lookups by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column dirtied_pages: pages made dirty, pages
-- column extents_before: contiguous runs on disk before the command, count
-- column extents_after: contiguous runs on disk after the command, count
-- column asked_bytes: read_bytes and written_bytes together, bytes
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column blocked_ns: of time_ns, in uninterruptible sleep, ns
-- column readahead_pages: pages read ahead of demand, pages
-- column size_bytes: size at the end, bytes
-- column kind: file, directory, device or unknown, text
-- column dev: device number of the filesystem, id
-- column ino: inode, id
WITH asked AS (
    SELECT
        s.dev,
        s.ino,
        count(*) AS calls,
        sum(s.dur_ns) AS time_ns,
        sum(CASE WHEN k.kind = 'sync' THEN s.dur_ns ELSE 0 END) AS sync_ns,
        sum(s.blocked_ns) AS blocked_ns,
        sum(CASE WHEN k.kind IN ('read', 'copy') AND s.ret > 0 THEN s.ret ELSE 0 END) AS read_bytes,
        sum(CASE
            WHEN k.kind = 'write' AND s.ret > 0 THEN s.ret
            WHEN s.name = 'msync' AND s.ret = 0 THEN s.bytes
            ELSE 0
        END) AS written_bytes
    FROM syscalls s
    LEFT JOIN call_kinds k ON k.name = s.name
    WHERE s.ino IS NOT NULL
    GROUP BY s.dev, s.ino
), cached AS (
    SELECT
        dev,
        ino,
        sum(lookup_pages) AS lookup_pages,
        sum(demand_miss_pages) AS miss_pages,
        sum(readahead_pages) AS readahead_pages,
        sum(dirtied_pages) AS dirtied_pages
    FROM page_cache
    WHERE ino IS NOT NULL
    GROUP BY dev, ino
), requested AS (
    SELECT
        owner_dev AS dev,
        owner_ino AS ino,
        count(*) AS requests,
        sum(bytes) AS request_bytes,
        count(*) FILTER (WHERE jump_bytes <> 0) / nullif(count(jump_bytes), 0) AS seek_share
    FROM request_sequence
    WHERE owner_ino IS NOT NULL AND counted AND (in_scope IS NULL OR in_scope)
    GROUP BY owner_dev, owner_ino
), runs AS (
    SELECT
        dev,
        ino,
        sum(CASE WHEN phase = 'before' AND starts_run THEN 1 END) AS extents_before,
        sum(CASE WHEN phase = 'after' AND starts_run THEN 1 END) AS extents_after
    FROM extent_runs
    GROUP BY dev, ino
), named AS (
    SELECT dev, ino, max(path) AS path, max(kind) AS kind, max(size_bytes) AS size_bytes
    FROM files
    GROUP BY dev, ino
), ids AS (
    SELECT dev, ino FROM asked
    UNION
    SELECT dev, ino FROM cached
    UNION
    SELECT dev, ino FROM requested
    UNION
    SELECT dev, ino FROM runs
)
SELECT
    n.path,
    coalesce(a.calls, CASE WHEN r.ran_syscalls THEN 0 END) AS calls,
    coalesce(a.time_ns, CASE WHEN r.ran_syscalls THEN 0 END) AS time_ns,
    coalesce(a.read_bytes, CASE WHEN r.ran_syscalls THEN 0 END) AS read_bytes,
    coalesce(a.written_bytes, CASE WHEN r.ran_syscalls THEN 0 END) AS written_bytes,
    coalesce(q.requests, CASE WHEN r.ran_block_requests THEN 0 END) AS requests,
    coalesce(q.request_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS request_bytes,
    q.request_bytes / nullif(q.requests, 0) AS mean_request_bytes,
    q.seek_share,
    coalesce(c.lookup_pages, CASE WHEN r.ran_lookups THEN 0 END) AS lookup_pages,
    coalesce(c.miss_pages, CASE WHEN r.ran_lookups THEN 0 END) AS miss_pages,
    coalesce(c.dirtied_pages, CASE WHEN r.ran_page_cache THEN 0 END) AS dirtied_pages,
    e.extents_before,
    e.extents_after,
    coalesce(a.read_bytes + a.written_bytes, CASE WHEN r.ran_syscalls THEN 0 END) AS asked_bytes,
    coalesce(a.sync_ns, CASE WHEN r.ran_syscalls THEN 0 END) AS sync_ns,
    a.blocked_ns,
    coalesce(c.readahead_pages, CASE WHEN r.ran_page_cache THEN 0 END) AS readahead_pages,
    n.size_bytes,
    n.kind,
    i.dev,
    i.ino
FROM ids i
CROSS JOIN recording r
LEFT JOIN named n ON n.dev = i.dev AND n.ino = i.ino
LEFT JOIN asked a ON a.dev = i.dev AND a.ino = i.ino
LEFT JOIN cached c ON c.dev = i.dev AND c.ino = i.ino
LEFT JOIN requested q ON q.dev = i.dev AND q.ino = i.ino
LEFT JOIN runs e ON e.dev = i.dev AND e.ino = i.ino
WHERE n.kind IS NULL OR n.kind NOT IN ('pipe', 'socket', 'anonymous')
ORDER BY
    coalesce(a.time_ns, 0) DESC,
    coalesce(q.request_bytes, 0) DESC,
    coalesce(c.lookup_pages, 0) DESC,
    n.path,
    i.dev,
    i.ino
