-- title: Page cache
-- question: How many lookups were served from memory, and which files missed?
-- stands in for: cachestat, cachetop
-- about: path lookup_pages miss_pages hit_ratio refault_pages evicted_pages
-- column path: file; all files together in the first row, text
-- column lookup_pages: pages asked for by reads, pages
-- column miss_pages: of these, not there and read on demand, pages
-- column prefetched_pages: first lookups of pages that readahead had brought, pages
-- column hit_ratio: lookups of pages that were in memory before, neither missed nor just read ahead, share
-- column present_ratio: lookups that found their page, brought ahead of demand or before, share
-- column readahead_pages: pages read ahead of demand, pages
-- column unused_readahead_pages: of these, never looked up in this recording, pages
-- column refault_pages: pages read again after they had been evicted, pages
-- column evicted_pages: pages removed from the cache, pages
-- column dirtied_pages: pages made dirty, pages
-- column major_faults: page faults that had to read, count
-- column minor_faults: page faults served from the cache, count
-- column estimated: lookups are estimated from read calls, bool
-- column dev: device number of the filesystem, id
-- column ino: inode, id
WITH listed AS (
    SELECT
        0 AS place,
        'all files' AS path,
        sum(lookup_pages) AS lookup_pages,
        sum(miss_pages) AS miss_pages,
        sum(prefetched_pages) AS prefetched_pages,
        sum(hit_pages) AS hit_pages,
        sum(hit_of_pages) AS hit_of_pages,
        sum(readahead_pages) AS readahead_pages,
        sum(refault_pages) AS refault_pages,
        sum(evicted_pages) AS evicted_pages,
        sum(dirtied_pages) AS dirtied_pages,
        sum(major_faults) AS major_faults,
        sum(minor_faults) AS minor_faults,
        bool_or(estimated) AS estimated,
        CAST(NULL AS BIGINT) AS dev,
        CAST(NULL AS BIGINT) AS ino
    FROM file_cache
    HAVING count(*) > 0
    UNION ALL
    SELECT
        1, n.path, s.lookup_pages, s.miss_pages, s.prefetched_pages, s.hit_pages,
        s.hit_of_pages, s.readahead_pages,
        s.refault_pages, s.evicted_pages, s.dirtied_pages, s.major_faults, s.minor_faults,
        s.estimated, s.dev, s.ino
    FROM file_cache s
    LEFT JOIN named_files n ON n.dev = s.dev AND n.ino = s.ino
    WHERE s.ino IS NOT NULL
)
SELECT
    path,
    lookup_pages,
    miss_pages,
    prefetched_pages,
    hit_pages / nullif(hit_of_pages, 0) AS hit_ratio,
    (lookup_pages - miss_pages) / nullif(lookup_pages, 0) AS present_ratio,
    readahead_pages,
    CASE WHEN readahead_pages IS NOT NULL AND prefetched_pages IS NOT NULL
        THEN greatest(readahead_pages - prefetched_pages, 0) END AS unused_readahead_pages,
    refault_pages,
    evicted_pages,
    dirtied_pages,
    major_faults,
    minor_faults,
    estimated,
    dev,
    ino
FROM listed
ORDER BY
    place,
    coalesce(miss_pages, 0) + coalesce(prefetched_pages, 0) DESC,
    coalesce(lookup_pages, 0) DESC,
    path,
    dev,
    ino
