-- title: One file's page cache events by one process in one interval, with what they come to
-- uses: page_cache
-- A lookup hits when the page was in memory before: it was neither missed nor just brought by
-- readahead. Where the first lookups of pages that readahead brought are not known, as many of the
-- lookups as pages were read ahead are taken for those. A fault that maps the pages around its own uses them without a lookup
-- each: no more of the lookups than there are can have been first ones. The other columns are those of page_cache.
-- column hit_pages: lookups that hit; NULL where lookups or misses are not known, pages
-- column hit_of_pages: lookups of which it is known whether they hit, pages
-- column added_pages: pages that were read, on demand or ahead; NULL where misses are not known, pages
SELECT
    p.*,
    CASE WHEN p.lookup_pages IS NOT NULL AND p.demand_miss_pages IS NOT NULL
        THEN greatest(p.lookup_pages - p.demand_miss_pages, 0)
            - least(coalesce(p.prefetched_hit_pages, p.readahead_pages, 0), greatest(p.lookup_pages - p.demand_miss_pages, 0))
    END AS hit_pages,
    CASE WHEN p.demand_miss_pages IS NOT NULL THEN p.lookup_pages END AS hit_of_pages,
    p.demand_miss_pages + coalesce(p.readahead_pages, 0) AS added_pages
FROM page_cache p
