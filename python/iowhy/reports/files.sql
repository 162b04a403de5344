-- title: Files
-- question: Which files cost what, at each layer: asked, cached, written, requested, seeks?
-- stands in for: filemon, filetop, fileslower
-- about: path object time_ns request_ns requests request_bytes
-- column path: path when first seen; what came and went under one path is one row, text
-- column calls: system calls on it, count
-- column time_ns: their durations, ns
-- column read_bytes: bytes that reads returned, those of io_uring and libaio too; unknown as asked_bytes is, bytes
-- column written_bytes: bytes that writes accepted, those of io_uring and libaio too; unknown as asked_bytes is, bytes
-- column requests: block requests that it owns, on the disk of its filesystem, count
-- column request_bytes: their bytes, bytes
-- column mean_request_bytes: mean size, bytes
-- column jump_share: requests that did not begin where the command's request that was queued before it, of the same direction, ended, share
-- column lookup_pages: page cache lookups by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column dirtied_pages: pages made dirty, pages
-- column extents_before: contiguous runs on disk before the command, count
-- column extents_after: contiguous runs on disk after the command, count
-- column asked_bytes: read_bytes and written_bytes together; unknown where no call says (mapped memory, the target of a copy), bytes
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
-- column object: of a database's file, its table, index or log, text
WITH told AS (
    -- Whether calls and operations say what was asked for. Not where pages or requests came about without one that
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
    FROM file_totals t
    CROSS JOIN recording r
)
SELECT
    t.path,
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
    container,
    o.object
FROM told t
LEFT JOIN database_objects o ON o.path = t.path
-- A file that is read through mapped memory or asynchronous calls has no calls whose time counts: its
-- requests show what it costs.
ORDER BY
    greatest(coalesce(time_ns, 0), coalesce(request_ns, 0)) DESC,
    coalesce(request_bytes, 0) DESC,
    coalesce(lookup_pages, 0) DESC,
    t.path,
    dev,
    ino
