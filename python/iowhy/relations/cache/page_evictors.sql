-- title: Pages of the command's files that one process took out of the page cache, and how
-- uses: named_processes, page_cache, threads
-- filtered as: nothing
-- The kernel frees pages in the context of whoever needs memory (direct reclaim, a control group's limit) or of its
-- own threads (kswapd, DAMON's kdamond). What goes otherwise was given up: drop_caches, posix_fadvise, truncation.
-- column tgid: process, id
-- column comm: its name; NULL where it was not seen, text
-- column own: it is the command's, bool
-- column how: kswapd, damon, reclaim, dropped; NULL where the source does not say, text
-- column again: of files of which pages were read again, bool
-- column pages: evicted, pages
WITH counted AS (
    SELECT
        tgid, evicted_pages, reclaimed_pages,
        coalesce(sum(refault_pages) OVER (PARTITION BY dev, ino) > 0, false) AS again
    FROM page_cache
), split AS (
    SELECT tgid, again, evicted_pages - reclaimed_pages AS pages, 'dropped' AS how
    FROM counted
    WHERE reclaimed_pages IS NOT NULL
    UNION ALL
    SELECT tgid, again, reclaimed_pages, 'reclaim' FROM counted WHERE reclaimed_pages IS NOT NULL
    UNION ALL
    SELECT tgid, again, evicted_pages, CAST(NULL AS VARCHAR) FROM counted WHERE reclaimed_pages IS NULL
), named AS (
    SELECT s.tgid, s.how, s.again, s.pages, n.comm, n.program, t.tgid IS NOT NULL AS own
    FROM split s
    LEFT JOIN named_processes n ON n.tgid = s.tgid
    LEFT JOIN (SELECT DISTINCT tgid FROM threads) t ON t.tgid = s.tgid
    WHERE s.pages > 0
)
SELECT
    tgid,
    comm,
    own,
    CASE
        WHEN how = 'reclaim' AND NOT own AND program LIKE 'kswapd%' THEN 'kswapd'
        WHEN how = 'reclaim' AND NOT own AND program LIKE 'kdamond%' THEN 'damon'
        ELSE how
    END AS how,
    again,
    sum(pages) AS pages
FROM named
GROUP BY 1, 2, 3, 4, 5
