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
    sum(lookup_pages) AS lookup_pages,
    sum(demand_miss_pages) AS miss_pages,
    sum(prefetched_hit_pages) AS prefetched_pages,
    sum(hit_pages) AS hit_pages,
    sum(hit_of_pages) AS hit_of_pages,
    sum(readahead_pages) AS readahead_pages,
    sum(added_pages) AS added_pages,
    sum(refault_pages) AS refault_pages,
    sum(evicted_pages) AS evicted_pages,
    sum(dirtied_pages) AS dirtied_pages,
    sum(major_faults) AS major_faults,
    sum(minor_faults) AS minor_faults,
    bool_or(estimated) AS estimated
FROM cache_counts
GROUP BY dev, ino
