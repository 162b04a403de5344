-- title: From what was asked to what the device did
-- question: How much did each layer do for what was asked?
-- report: amplification
-- draws: layers
-- place: 90
-- needs: syscalls or block_requests or page_cache
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column layer: asked (calls, and operations of io_uring and libaio), page cache, requests (the command's, each once), device (all processes'), text
-- column what: what the layer did, text
-- column operations: how often; pages of the page cache, count
-- column bytes: how much, bytes
WITH events AS (
    SELECT ts_ns, 1 AS place, 'asked' AS layer, 'read' AS what, 1 AS operations, ret AS bytes
    FROM storage_operations WHERE kind IN ('read', 'copy') AND ret > 0
    UNION ALL
    SELECT ts_ns, 2, 'asked', 'write', 1, ret FROM storage_operations WHERE kind IN ('write', 'copy') AND ret > 0
    UNION ALL
    SELECT ts_ns, 3, 'asked', 'sync', 1, CASE WHEN name = 'msync' AND ret = 0 THEN bytes ELSE 0 END
    FROM storage_operations WHERE kind = 'sync'
    UNION ALL
    SELECT p.ts_ns, 4, 'page cache', 'lookup', p.lookup_pages, p.lookup_pages * r.page_bytes
    FROM page_cache p CROSS JOIN recording r WHERE p.lookup_pages > 0
    UNION ALL
    SELECT p.ts_ns, 5, 'page cache', 'read on demand', p.demand_miss_pages, p.demand_miss_pages * r.page_bytes
    FROM page_cache p CROSS JOIN recording r WHERE p.demand_miss_pages > 0
    UNION ALL
    SELECT p.ts_ns, 6, 'page cache', 'read ahead', p.readahead_pages, p.readahead_pages * r.page_bytes
    FROM page_cache p CROSS JOIN recording r WHERE p.readahead_pages > 0
    UNION ALL
    SELECT p.ts_ns, 7, 'page cache', 'dirtied', p.dirtied_pages, p.dirtied_pages * r.page_bytes
    FROM page_cache p CROSS JOIN recording r WHERE p.dirtied_pages > 0
    UNION ALL
    SELECT
        q.queue_ns, CASE q.op WHEN 'read' THEN 8 WHEN 'write' THEN 9 ELSE 10 END, 'requests',
        CASE WHEN q.op = q.owner_kind THEN q.op ELSE q.op || ' ' || q.owner_kind END, 1, q.bytes
    FROM counted_requests q
    WHERE q.counted AND (q.whose = 'command'
        OR (q.whose = 'shared' AND q.dev IN (SELECT dev FROM written_devices)))
    UNION ALL
    SELECT
        q.queue_ns, 11, 'device ' || coalesce(d.name,
            CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)), q.op, 1, q.bytes
    FROM counted_requests q
    LEFT JOIN devices d ON d.dev = q.dev
)
SELECT
    greatest(least((e.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    e.layer,
    e.what,
    CAST(sum(e.operations) AS BIGINT) AS operations,
    CAST(sum(e.bytes) AS BIGINT) AS bytes
FROM events e
CROSS JOIN chart_cells c
GROUP BY greatest(least((e.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), e.place, e.layer, e.what
ORDER BY e.place, e.layer, e.what, at_s
