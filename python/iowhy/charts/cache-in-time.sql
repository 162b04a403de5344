-- title: Page cache
-- question: Which files were looked up, read, evicted and dirtied in the chosen time?
-- report: cache
-- draws: narrowed
-- place: 242
-- needs: page_cache
-- heaviest: 40 by sum(coalesce(miss_pages, 0) + coalesce(prefetched_pages, 0)) DESC, sum(coalesce(lookup_pages, 0)) DESC, sum(coalesce(evicted_pages, 0) + coalesce(dirtied_pages, 0)) DESC
-- The forty files with most pages that were read or looked up, by the intervals in which they were counted.
-- column path: file; all files together in their own row, text
-- column lookup_pages: pages asked for by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column prefetched_pages: first lookups of pages that readahead had brought, pages
-- column readahead_pages: pages read ahead of demand, pages
-- column refault_pages: pages read again after they had been evicted, pages
-- column evicted_pages: pages removed from the cache, pages
-- column dirtied_pages: pages made dirty, pages
-- column major_faults: page faults that had to read, count
-- column minor_faults: page faults served from the cache, count
WITH counted AS (
    SELECT *, demand_miss_pages AS miss_pages, prefetched_hit_pages AS prefetched_pages FROM cache_counts
)
SELECT p.*, f.path AS path
FROM counted p
LEFT JOIN named_files f ON f.dev = p.dev AND f.ino = p.ino
WHERE p.ino IS NOT NULL
UNION ALL
SELECT p.*, 'all files' FROM counted p
