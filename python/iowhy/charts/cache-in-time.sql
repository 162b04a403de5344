-- title: Page cache
-- question: Which files were looked up, read, evicted and dirtied in the chosen time?
-- report: cache
-- draws: narrowed
-- place: 242
-- needs: page_cache
-- The forty files with most pages that were read or looked up, by the intervals in which they were counted.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column path: file; all files together in a row of their own, text
-- column lookup_pages: pages asked for by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column prefetched_pages: first lookups of pages that readahead had brought, pages
-- column readahead_pages: pages read ahead of demand, pages
-- column refault_pages: pages read again after they had been evicted, pages
-- column evicted_pages: pages removed from the cache, pages
-- column dirtied_pages: pages made dirty, pages
-- column major_faults: page faults that had to read, count
-- column minor_faults: page faults served from the cache, count
WITH named AS (
    SELECT p.*, f.path AS path
    FROM cache_counts p
    LEFT JOIN named_files f ON f.dev = p.dev AND f.ino = p.ino
    WHERE p.ino IS NOT NULL
    UNION ALL
    SELECT p.*, 'all files' FROM cache_counts p
), heaviest AS (
    SELECT path
    FROM named
    GROUP BY path
    ORDER BY
        sum(coalesce(demand_miss_pages, 0) + coalesce(prefetched_hit_pages, 0)) DESC,
        sum(coalesce(lookup_pages, 0)) DESC, sum(coalesce(evicted_pages, 0) + coalesce(dirtied_pages, 0)) DESC, path
    LIMIT 40
)
SELECT
    greatest(least((n.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    n.path,
    CAST(sum(n.lookup_pages) AS BIGINT) AS lookup_pages,
    CAST(sum(n.demand_miss_pages) AS BIGINT) AS miss_pages,
    CAST(sum(n.prefetched_hit_pages) AS BIGINT) AS prefetched_pages,
    CAST(sum(n.readahead_pages) AS BIGINT) AS readahead_pages,
    CAST(sum(n.refault_pages) AS BIGINT) AS refault_pages,
    CAST(sum(n.evicted_pages) AS BIGINT) AS evicted_pages,
    CAST(sum(n.dirtied_pages) AS BIGINT) AS dirtied_pages,
    CAST(sum(n.major_faults) AS BIGINT) AS major_faults,
    CAST(sum(n.minor_faults) AS BIGINT) AS minor_faults
FROM named n
CROSS JOIN chart_cells c
JOIN heaviest h ON h.path IS NOT DISTINCT FROM n.path
GROUP BY greatest(least((n.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), n.path
ORDER BY sum(coalesce(n.demand_miss_pages, 0)) DESC, n.path, at_s
