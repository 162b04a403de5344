-- title: Tables and indexes
-- question: Which table, index or log of a database costs what, and how scattered is it?
-- stands in for: pg_statio_user_tables, performance_schema
-- filters: since until pid container
-- about: object time_ns request_ns request_bytes jump_share extents_after
-- column object: table, index or log, text
-- column files: its files, segments and partitions alike, count
-- column calls: system calls on them, count
-- column time_ns: their durations, ns
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column requests: block requests that they own, count
-- column request_bytes: their bytes, bytes
-- column request_ns: from queue to completion, summed, ns
-- column jump_share: requests that did not begin where the command's request that was queued before it, of the same direction, ended, share
-- column extents_before: contiguous runs on disk before the command, count
-- column extents_after: contiguous runs on disk after the command, count
-- column bytes_per_extent: mean length of such a run after the command, bytes
WITH runs AS (
    SELECT dev, ino, max(CASE WHEN phase = 'after' THEN bytes END) AS placed_bytes FROM file_layout GROUP BY dev, ino
)
SELECT
    o.object,
    CAST(sum(t.inodes) AS BIGINT) AS files,
    CAST(sum(coalesce(t.calls, CASE WHEN g.ran_syscalls THEN 0 END)) AS BIGINT) AS calls,
    CAST(sum(coalesce(t.time_ns, CASE WHEN g.ran_syscalls THEN 0 END)) AS BIGINT) AS time_ns,
    CAST(sum(coalesce(t.sync_ns, CASE WHEN g.ran_syscalls THEN 0 END)) AS BIGINT) AS sync_ns,
    CAST(sum(coalesce(t.requests, CASE WHEN g.ran_block_requests THEN 0 END)) AS BIGINT) AS requests,
    CAST(sum(coalesce(t.request_bytes, CASE WHEN g.ran_block_requests THEN 0 END)) AS BIGINT) AS request_bytes,
    CAST(sum(coalesce(t.request_ns, CASE WHEN g.ran_block_requests AND coalesce(t.requests, 0) = 0 THEN 0 END)) AS BIGINT) AS request_ns,
    sum(t.jumps) / nullif(sum(t.steps), 0) AS jump_share,
    CAST(sum(t.extents_before) AS BIGINT) AS extents_before,
    CAST(sum(t.extents_after) AS BIGINT) AS extents_after,
    sum(CASE WHEN t.extents_after > 0 THEN r.placed_bytes END) / nullif(sum(t.extents_after), 0) AS bytes_per_extent
FROM file_totals t
CROSS JOIN recording g
JOIN database_objects o ON o.path = t.path
LEFT JOIN runs r ON r.dev = t.dev AND r.ino = t.ino
GROUP BY o.object
ORDER BY
    greatest(coalesce(sum(t.time_ns), 0), coalesce(sum(t.request_ns), 0)) DESC,
    coalesce(sum(t.request_bytes), 0) DESC,
    o.object
