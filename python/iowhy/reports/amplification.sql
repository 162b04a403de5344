-- title: Amplification
-- question: How much did each layer do for what was asked?
-- stands in for: nothing; no other tool joins the layers
-- filters: since until pid container file
-- about: layer what operations bytes bytes_ratio operations_ratio
-- column layer: asked (calls, and operations of io_uring and libaio), page cache, requests (the command's, each once), device (all processes'), text
-- column what: what the layer did, text
-- column operations: how often; lookups and the like count pages, count
-- column bytes: how much, bytes
-- column mean_bytes: bytes per operation, bytes
-- column bytes_ratio: bytes over the bytes asked in that direction, ratio
-- column operations_ratio: operations over the calls in that direction, ratio
-- A file's requests are counted on the disk of its filesystem and not again on a device below it;
-- journal, metadata and flush requests on no device that is below another one in use. What of these
-- kernel threads submit is shared: it is listed for the devices that the command itself wrote to, and
-- may be in part for others.
-- What msync was asked to write counts as asked, since stores to mapped memory are not calls.
WITH asked AS (
    SELECT
        count(*) FILTER (WHERE kind IN ('read', 'copy') AND ret > 0) AS reads,
        sum(CASE WHEN kind IN ('read', 'copy') AND ret > 0 THEN ret ELSE 0 END) AS read_bytes,
        count(*) FILTER (WHERE kind IN ('write', 'copy') AND ret > 0) AS writes,
        sum(CASE WHEN kind IN ('write', 'copy') AND ret > 0 THEN ret ELSE 0 END) AS written_bytes,
        count(*) FILTER (WHERE kind = 'sync') AS syncs,
        count(*) FILTER (WHERE name = 'msync' AND ret = 0) AS msyncs,
        sum(CASE WHEN name = 'msync' AND ret = 0 THEN bytes ELSE 0 END) AS msync_bytes
    FROM storage_operations
), cached AS (
    SELECT
        sum(lookup_pages) AS lookup_pages,
        sum(miss_pages) AS miss_pages,
        sum(readahead_pages) AS readahead_pages,
        sum(dirtied_pages) AS dirtied_pages
    FROM file_cache
), requested AS (
    SELECT op, owner_kind, sum(requests) AS operations, sum(bytes) AS bytes
    FROM request_totals
    WHERE counted AND (whose = 'command'
        OR (whose = 'shared' AND dev IN (SELECT dev FROM written_devices)))
    GROUP BY op, owner_kind
), on_devices AS (
    SELECT dev, op, sum(requests) AS operations, sum(bytes) AS bytes
    -- As /proc/diskstats counts them: also writes of no bytes, which ask for a flush.
    FROM request_sums
    GROUP BY dev, op
), listed AS (
    SELECT 1 AS place, 'asked' AS layer, 'read' AS what, a.reads AS operations,
        a.read_bytes AS bytes, 'read' AS direction
    FROM asked a CROSS JOIN recording r WHERE r.ran_syscalls OR a.reads > 0
    UNION ALL
    SELECT 2, 'asked', 'write', a.writes, a.written_bytes, 'write'
    FROM asked a CROSS JOIN recording r WHERE r.ran_syscalls OR a.writes > 0
    UNION ALL
    SELECT 3, 'asked', 'sync', a.syncs, a.msync_bytes, 'sync'
    FROM asked a CROSS JOIN recording r WHERE r.ran_syscalls OR a.syncs > 0
    UNION ALL
    SELECT 4, 'page cache', 'lookup', c.lookup_pages, c.lookup_pages * r.page_bytes, 'read'
    FROM cached c CROSS JOIN recording r WHERE c.lookup_pages IS NOT NULL
    UNION ALL
    SELECT 5, 'page cache', 'read on demand', c.miss_pages, c.miss_pages * r.page_bytes, 'read'
    FROM cached c CROSS JOIN recording r WHERE c.miss_pages IS NOT NULL
    UNION ALL
    SELECT 6, 'page cache', 'read ahead', c.readahead_pages, c.readahead_pages * r.page_bytes, 'read'
    FROM cached c CROSS JOIN recording r WHERE c.readahead_pages IS NOT NULL
    UNION ALL
    SELECT 7, 'page cache', 'dirtied', c.dirtied_pages, c.dirtied_pages * r.page_bytes, 'write'
    FROM cached c CROSS JOIN recording r WHERE c.dirtied_pages IS NOT NULL
    UNION ALL
    SELECT
        CASE q.op WHEN 'read' THEN 8 WHEN 'write' THEN 9 ELSE 10 END,
        'requests',
        CASE WHEN q.op = q.owner_kind THEN q.op ELSE q.op || ' ' || q.owner_kind END,
        q.operations,
        q.bytes,
        q.op
    FROM requested q
    UNION ALL
    SELECT
        11,
        'device ' || coalesce(d.name,
            CAST(t.dev >> 20 AS VARCHAR) || ':' || CAST(t.dev & 1048575 AS VARCHAR)),
        t.op,
        t.operations,
        t.bytes,
        t.op
    FROM on_devices t
    LEFT JOIN devices d ON d.dev = t.dev
)
SELECT
    l.layer,
    l.what,
    l.operations,
    l.bytes,
    l.bytes / nullif(l.operations, 0) AS mean_bytes,
    l.bytes / nullif(CASE l.direction
        WHEN 'read' THEN a.read_bytes
        WHEN 'write' THEN a.written_bytes + a.msync_bytes
    END, 0) AS bytes_ratio,
    l.operations / nullif(CASE l.direction
        WHEN 'read' THEN a.reads
        WHEN 'write' THEN a.writes + a.msyncs
    END, 0) AS operations_ratio
FROM listed l
CROSS JOIN asked a
ORDER BY l.place, l.layer, l.what
