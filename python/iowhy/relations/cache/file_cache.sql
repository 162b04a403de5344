-- title: One file's page cache events over the recording; all files together if they are not distinguished
-- uses: cache_counts, page_cache
-- kept: table
-- column dev: filesystem; NULL: all files together, id
-- column ino: inode; NULL: all files together, id
-- column lookup_pages: pages asked for by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column prefetched_pages: first lookups of pages that readahead had brought, pages
-- column hit_pages: lookups of pages that were in memory before (see cache_counts), pages
-- column hit_of_pages: lookups of which it is known whether they hit, pages
-- column readahead_pages: pages read ahead of demand, pages
-- column added_pages: pages that were read, on demand or ahead, pages
-- column refault_pages: pages read again after they had been evicted, pages
-- column evicted_pages: pages removed from the cache, pages
-- column dirtied_pages: pages made dirty, pages
-- column major_faults: page faults that had to read, count
-- column minor_faults: page faults served from the cache, count
-- column estimated: lookups are estimated from read calls, bool
WITH again AS (
    SELECT dev, ino FROM page_cache GROUP BY dev, ino HAVING count(*) > 1
)
-- Of many files most have one row: to add up those of all of them takes longer.
SELECT
    c.dev,
    c.ino,
    c.lookup_pages,
    c.demand_miss_pages AS miss_pages,
    c.prefetched_hit_pages AS prefetched_pages,
    c.hit_pages,
    c.hit_of_pages,
    c.readahead_pages,
    c.added_pages,
    c.refault_pages,
    c.evicted_pages,
    c.dirtied_pages,
    c.major_faults,
    c.minor_faults,
    c.estimated
FROM cache_counts c
LEFT JOIN (SELECT dev, ino, true AS more FROM again) a ON a.dev IS NOT DISTINCT FROM c.dev AND a.ino IS NOT DISTINCT FROM c.ino
WHERE a.more IS NULL
UNION ALL
SELECT
    c.dev,
    c.ino,
    CAST(sum(c.lookup_pages) AS BIGINT),
    CAST(sum(c.demand_miss_pages) AS BIGINT),
    CAST(sum(c.prefetched_hit_pages) AS BIGINT),
    CAST(sum(c.hit_pages) AS BIGINT),
    CAST(sum(c.hit_of_pages) AS BIGINT),
    CAST(sum(c.readahead_pages) AS BIGINT),
    CAST(sum(c.added_pages) AS BIGINT),
    CAST(sum(c.refault_pages) AS BIGINT),
    CAST(sum(c.evicted_pages) AS BIGINT),
    CAST(sum(c.dirtied_pages) AS BIGINT),
    CAST(sum(c.major_faults) AS BIGINT),
    CAST(sum(c.minor_faults) AS BIGINT),
    bool_or(c.estimated)
FROM cache_counts c
JOIN again a ON a.dev IS NOT DISTINCT FROM c.dev AND a.ino IS NOT DISTINCT FROM c.ino
GROUP BY c.dev, c.ino
