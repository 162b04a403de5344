-- title: Page cache over time
-- question: When were pages found, read, read ahead, evicted, dirtied, and how much was dirty?
-- report: cache-over-time
-- draws: lines
-- place: 80
-- needs: page_cache or memory_samples
-- Dirty pages and those being written back are the machine's.
-- column at_s: begin of the interval, s
-- column span_s: its length, s
-- column hit_pages: pages asked for by reads that were in memory before, pages
-- column miss_pages: pages asked for by reads that were not there, pages
-- column readahead_pages: pages read ahead of demand, pages
-- column refault_pages: pages read again after they had been evicted, pages
-- column evicted_pages: pages removed from the cache, pages
-- column dirtied_pages: pages made dirty, pages
-- column most_dirty_bytes: dirty memory of the machine, most in the interval, bytes
-- column most_writeback_bytes: memory of the machine that is being written back, most in the interval, bytes
WITH counted AS (
    SELECT
        CAST(floor((p.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
        sum(p.hit_pages) AS hit_pages,
        sum(p.demand_miss_pages) AS miss_pages,
        sum(p.readahead_pages) AS readahead_pages,
        sum(p.refault_pages) AS refault_pages,
        sum(p.evicted_pages) AS evicted_pages,
        sum(p.dirtied_pages) AS dirtied_pages
    FROM cache_counts p
    CROSS JOIN recording r
    GROUP BY 1
)
SELECT
    coalesce(c.slice, l.slice) * r.slice_ns / 1e9 AS at_s,
    r.slice_ns / 1e9 AS span_s,
    CAST(c.hit_pages AS BIGINT) AS hit_pages,
    CAST(c.miss_pages AS BIGINT) AS miss_pages,
    CAST(c.readahead_pages AS BIGINT) AS readahead_pages,
    CAST(c.refault_pages AS BIGINT) AS refault_pages,
    CAST(c.evicted_pages AS BIGINT) AS evicted_pages,
    CAST(c.dirtied_pages AS BIGINT) AS dirtied_pages,
    l.most_dirty_bytes,
    l.most_writeback_bytes
FROM counted c
FULL JOIN memory_slices l ON l.slice = c.slice
CROSS JOIN recording r
ORDER BY at_s
