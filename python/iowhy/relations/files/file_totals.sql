-- title: What each file cost at each layer: asked, cached, written, requested, laid out
-- uses: extents, file_cache, file_calls, file_layout, file_requests, named_files
-- Files that came and went under one path are one row. NULL where nothing of that layer is there.
-- column path: path when first seen, text
-- column dev: device number of the filesystem, id
-- column ino: inode; NULL of several, id
-- column inodes: files that had this path one after the other, count
-- column kind: file, directory, device or unknown, text
-- column size_bytes: size at the end, bytes
-- column deleted: was gone at the end, bool
-- column calls: system calls on it, and operations of io_uring and libaio, count
-- column data_calls: of these, those that move data, count
-- column time_ns: durations of the calls, ns
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column blocked_ns: of time_ns, in uninterruptible sleep, ns
-- column read_bytes: bytes that reads returned, bytes
-- column written_bytes: bytes that writes accepted, bytes
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
    -- The range of an msync is what may be dirty of a mapping, not what was changed: no call says that.
    SELECT
        dev, ino, calls, data_calls, time_ns, sync_ns, blocked_ns, read_bytes + copied_bytes AS read_bytes, written_bytes,
        first_container, last_container
    FROM file_calls
), cached AS (
    SELECT *, coalesce(major_faults, 0) + coalesce(minor_faults, 0) AS faults
    FROM file_cache
    WHERE ino IS NOT NULL
), requested AS (
    SELECT
        owner_dev AS dev,
        owner_ino AS ino,
        CAST(sum(requests) AS BIGINT) AS requests,
        CAST(sum(bytes) AS BIGINT) AS request_bytes,
        CAST(sum(time_ns) AS BIGINT) AS request_ns,
        CAST(sum(direct_bytes) AS BIGINT) AS direct_bytes,
        CAST(sum(jumps) AS BIGINT) AS jumps,
        CAST(sum(steps) AS BIGINT) AS steps
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
), each_file AS (
    SELECT
        n.path,
        coalesce(a.dev, c.dev, q.dev, e.dev) AS dev,
        coalesce(a.ino, c.ino, q.ino, e.ino) AS ino,
        n.kind,
        n.size_bytes,
        n.deleted,
        a.calls,
        coalesce(a.data_calls, 0) AS data_calls,
        a.time_ns,
        a.sync_ns,
        a.blocked_ns,
        coalesce(a.read_bytes, 0) AS read_bytes,
        coalesce(a.written_bytes, 0) AS written_bytes,
        c.lookup_pages,
        c.miss_pages,
        c.readahead_pages,
        c.dirtied_pages,
        c.faults,
        q.requests,
        q.request_bytes,
        q.request_ns,
        q.direct_bytes,
        q.jumps,
        q.steps,
        e.extents_before,
        e.extents_after,
        a.first_container,
        a.last_container
    FROM asked a
    FULL JOIN cached c ON c.dev = a.dev AND c.ino = a.ino
    FULL JOIN requested q ON q.dev = coalesce(a.dev, c.dev) AND q.ino = coalesce(a.ino, c.ino)
    FULL JOIN runs e ON e.dev = coalesce(a.dev, c.dev, q.dev) AND e.ino = coalesce(a.ino, c.ino, q.ino)
    LEFT JOIN named_files n
        ON n.dev = coalesce(a.dev, c.dev, q.dev, e.dev) AND n.ino = coalesce(a.ino, c.ino, q.ino, e.ino)
    WHERE n.kind IS NULL OR n.kind NOT IN ('pipe', 'socket', 'anonymous')
), shared AS (
    SELECT dev, path FROM named_files WHERE path IS NOT NULL GROUP BY dev, path HAVING count(*) > 1
)
-- Most paths have one file each: to add them all up by path takes longer than all else here.
SELECT
    f.path,
    f.dev,
    f.ino,
    1 AS inodes,
    f.kind,
    f.size_bytes,
    f.deleted,
    f.calls,
    f.data_calls,
    f.time_ns,
    f.sync_ns,
    f.blocked_ns,
    f.read_bytes,
    f.written_bytes,
    f.lookup_pages,
    f.miss_pages,
    f.readahead_pages,
    f.dirtied_pages,
    f.faults,
    f.requests,
    f.request_bytes,
    f.request_ns,
    f.direct_bytes,
    f.jumps,
    f.steps,
    f.extents_before,
    f.extents_after,
    CASE WHEN f.first_container = f.last_container THEN f.last_container END AS container
FROM each_file f
LEFT JOIN shared s ON s.dev = f.dev AND s.path = f.path
WHERE s.path IS NULL
UNION ALL
SELECT
    f.path,
    f.dev,
    CASE WHEN count(*) = 1 THEN max(f.ino) END,
    count(*),
    max(f.kind),
    max(f.size_bytes),
    min(f.deleted),
    CAST(sum(f.calls) AS BIGINT),
    CAST(sum(f.data_calls) AS BIGINT),
    CAST(sum(f.time_ns) AS BIGINT),
    CAST(sum(f.sync_ns) AS BIGINT),
    CAST(sum(f.blocked_ns) AS BIGINT),
    CAST(sum(f.read_bytes) AS BIGINT),
    CAST(sum(f.written_bytes) AS BIGINT),
    CAST(sum(f.lookup_pages) AS BIGINT),
    CAST(sum(f.miss_pages) AS BIGINT),
    CAST(sum(f.readahead_pages) AS BIGINT),
    CAST(sum(f.dirtied_pages) AS BIGINT),
    CAST(sum(f.faults) AS BIGINT),
    CAST(sum(f.requests) AS BIGINT),
    CAST(sum(f.request_bytes) AS BIGINT),
    CAST(sum(f.request_ns) AS BIGINT),
    CAST(sum(f.direct_bytes) AS BIGINT),
    CAST(sum(f.jumps) AS BIGINT),
    CAST(sum(f.steps) AS BIGINT),
    CAST(sum(f.extents_before) AS BIGINT),
    CAST(sum(f.extents_after) AS BIGINT),
    CASE WHEN min(f.first_container) = max(f.last_container) THEN max(f.last_container) END
FROM each_file f
JOIN shared s ON s.dev = f.dev AND s.path = f.path
GROUP BY f.dev, f.path
