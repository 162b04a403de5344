-- title: Memory sizes
-- question: How much of what its calls read would be in memory already, if that were so large?
-- stands in for: a run under each limit of memory
-- about: memory_bytes hit_share read_bytes again_bytes
-- column memory_bytes: memory for file data, without what the program takes for itself; the last row is all that is read, bytes
-- column hit_share: of the pages that calls read, those in memory from an earlier call, share
-- column read_bytes: what the device reads then, ahead of calls too, bytes
-- column again_bytes: of it, what is read again as it is no longer in memory, bytes
-- column mapped_bytes: what was read of files that are mapped, whose use is not seen and not in the other columns, bytes
-- The calls are made again in a small model of Linux's page cache: active and inactive pages, those that come back soon, and readahead of
-- 128 KiB. Of long recordings it has a sample. The smallest memory in which nothing is read again, but for 1 %, has a row.
WITH mapped AS (
    SELECT coalesce(sum(added_pages), 0) AS pages FROM file_cache WHERE major_faults > 0
)
SELECT
    z.memory_bytes,
    z.hit_share,
    z.read_bytes,
    z.again_bytes,
    CAST(m.pages * r.page_bytes AS BIGINT) AS mapped_bytes
FROM memory_sizes z
CROSS JOIN mapped m
CROSS JOIN recording r
ORDER BY z.memory_bytes
