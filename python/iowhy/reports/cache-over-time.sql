-- title: Page cache over time
-- question: When did lookups hit, and when did they read again what had been evicted?
-- stands in for: cachestat 1
-- small plots: hit_ratio miss_pages readahead_pages evicted_pages dirtied_pages over at_s
-- about: at_s lookup_pages hit_ratio miss_pages readahead_pages evicted_pages
-- column at_s: begin of the interval, after the start of the recording, s
-- column lookup_pages: pages asked for by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column prefetched_pages: first lookups of pages that readahead had brought, pages
-- column hit_ratio: lookups of pages that were in memory before, neither missed nor just read ahead, share
-- column present_ratio: lookups that found their page, brought ahead of demand or before, share
-- column readahead_pages: pages read ahead of demand, pages
-- column refault_pages: pages read again after they had been evicted, pages
-- column evicted_pages: pages removed from the cache, pages
-- column dirtied_pages: pages made dirty, pages
-- column major_faults: page faults that had to read, count
-- column minor_faults: page faults served from the cache, count
WITH summed AS (
    SELECT
        CAST(floor((p.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) * r.slice_ns / 1e9 AS at_s,
        sum(p.lookup_pages) AS lookup_pages,
        sum(p.demand_miss_pages) AS miss_pages,
        sum(p.prefetched_hit_pages) AS prefetched_pages,
        sum(p.hit_pages) AS hit_pages,
        sum(p.hit_of_pages) AS hit_of_pages,
        sum(p.readahead_pages) AS readahead_pages,
        sum(p.refault_pages) AS refault_pages,
        sum(p.evicted_pages) AS evicted_pages,
        sum(p.dirtied_pages) AS dirtied_pages,
        sum(p.major_faults) AS major_faults,
        sum(p.minor_faults) AS minor_faults
    FROM cache_counts p
    CROSS JOIN recording r
    GROUP BY 1
)
SELECT
    at_s,
    lookup_pages,
    miss_pages,
    prefetched_pages,
    hit_pages / nullif(hit_of_pages, 0) AS hit_ratio,
    (lookup_pages - miss_pages) / nullif(lookup_pages, 0) AS present_ratio,
    readahead_pages,
    refault_pages,
    evicted_pages,
    dirtied_pages,
    major_faults,
    minor_faults
FROM summed
ORDER BY at_s
