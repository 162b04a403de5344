-- title: Files
-- question: Which files cost what, at each layer: asked, cached, written, requested, seeks?
-- stands in for: filemon, filetop, fileslower
-- column path: path when first seen; what came and went under one path is one row, text
-- column calls: system calls on it, count
-- column time_ns: their durations, ns
-- column read_bytes: bytes that reads returned, those of io_uring and libaio too; unknown as asked_bytes is, bytes
-- column written_bytes: bytes that writes accepted, those of io_uring and libaio too; unknown as asked_bytes is, bytes
-- column requests: block requests that it owns, on the disk of its filesystem, count
-- column request_bytes: their bytes, bytes
-- column mean_request_bytes: mean size, bytes
-- column jump_share: requests that did not begin where the command's request before it of the same direction ended, share
-- column lookup_pages: page cache lookups by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column dirtied_pages: pages made dirty, pages
-- column extents_before: contiguous runs on disk before the command, count
-- column extents_after: contiguous runs on disk after the command, count
-- column asked_bytes: read_bytes and written_bytes together; unknown where no call tells (mapped memory, the target of a copy), bytes
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column blocked_ns: of time_ns, in uninterruptible sleep, ns
-- column readahead_pages: pages read ahead of demand, pages
-- column size_bytes: size at the end, bytes
-- column kind: file, directory, device or unknown, text
-- column dev: device number of the filesystem, id
-- column ino: inode; unknown of several, id
-- column inodes: files that had this path one after the other, count
-- column request_ns: of its requests, from queue to completion, summed, ns
-- column deleted: was gone at the end, bool
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
), together AS (
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
), told AS (
    -- Whether calls and operations tell what was asked for. Not where pages or requests came about without one that
    -- moves data, and not where more went past the page cache than calls asked for (a last block is whole).
    SELECT
        t.*,
        r.ran_syscalls AND CASE
            WHEN t.data_calls > 0
                THEN coalesce(t.direct_bytes, 0) <= 1.01 * (t.read_bytes + t.written_bytes) + r.page_bytes
            ELSE r.ran_page_cache AND coalesce(t.requests, 0) = 0
                AND coalesce(t.lookup_pages, 0) + coalesce(t.dirtied_pages, 0)
                    + coalesce(t.readahead_pages, 0) + coalesce(t.faults, 0) = 0
        END AS calls_tell,
        r.ran_syscalls,
        r.ran_block_requests,
        r.ran_lookups,
        r.ran_page_cache
    FROM together t
    CROSS JOIN recording r
)
SELECT
    path,
    coalesce(calls, CASE WHEN ran_syscalls THEN 0 END) AS calls,
    coalesce(time_ns, CASE WHEN ran_syscalls THEN 0 END) AS time_ns,
    CASE WHEN calls_tell THEN read_bytes END AS read_bytes,
    CASE WHEN calls_tell THEN written_bytes END AS written_bytes,
    coalesce(requests, CASE WHEN ran_block_requests THEN 0 END) AS requests,
    coalesce(request_bytes, CASE WHEN ran_block_requests THEN 0 END) AS request_bytes,
    request_bytes / nullif(requests, 0) AS mean_request_bytes,
    jumps / nullif(steps, 0) AS jump_share,
    coalesce(lookup_pages, CASE WHEN ran_lookups THEN 0 END) AS lookup_pages,
    coalesce(miss_pages, CASE WHEN ran_lookups THEN 0 END) AS miss_pages,
    coalesce(dirtied_pages, CASE WHEN ran_page_cache THEN 0 END) AS dirtied_pages,
    extents_before,
    extents_after,
    CASE WHEN calls_tell THEN read_bytes + written_bytes END AS asked_bytes,
    coalesce(sync_ns, CASE WHEN ran_syscalls THEN 0 END) AS sync_ns,
    blocked_ns,
    coalesce(readahead_pages, CASE WHEN ran_page_cache THEN 0 END) AS readahead_pages,
    size_bytes,
    kind,
    dev,
    ino,
    inodes,
    coalesce(request_ns, CASE WHEN ran_block_requests AND coalesce(requests, 0) = 0 THEN 0 END)
        AS request_ns,
    deleted,
    container
FROM told
-- A file that is read through mapped memory or asynchronous calls has no time in calls of its own: its
-- requests show what it costs.
ORDER BY
    greatest(coalesce(time_ns, 0), coalesce(request_ns, 0)) DESC,
    coalesce(request_bytes, 0) DESC,
    coalesce(lookup_pages, 0) DESC,
    path,
    dev,
    ino
