-- title: One file's page cache events over the recording; all files together where they are not told apart
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
SELECT
    dev,
    ino,
    CAST(sum(lookup_pages) AS BIGINT) AS lookup_pages,
    CAST(sum(demand_miss_pages) AS BIGINT) AS miss_pages,
    CAST(sum(prefetched_hit_pages) AS BIGINT) AS prefetched_pages,
    CAST(sum(hit_pages) AS BIGINT) AS hit_pages,
    CAST(sum(hit_of_pages) AS BIGINT) AS hit_of_pages,
    CAST(sum(readahead_pages) AS BIGINT) AS readahead_pages,
    CAST(sum(added_pages) AS BIGINT) AS added_pages,
    CAST(sum(refault_pages) AS BIGINT) AS refault_pages,
    CAST(sum(evicted_pages) AS BIGINT) AS evicted_pages,
    CAST(sum(dirtied_pages) AS BIGINT) AS dirtied_pages,
    CAST(sum(major_faults) AS BIGINT) AS major_faults,
    CAST(sum(minor_faults) AS BIGINT) AS minor_faults,
    bool_or(estimated) AS estimated
FROM cache_counts
GROUP BY dev, ino
