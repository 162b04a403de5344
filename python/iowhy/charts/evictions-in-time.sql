-- title: Evicted pages
-- question: Who took pages of its files out of the page cache in the chosen time?
-- report: evictions
-- draws: narrowed
-- place: 250
-- needs: page_cache
-- By the intervals in which they were counted; forty processes.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column comm: process, text
-- column tgid: process, id
-- column pages: pages of the command's files, pages
-- column reclaimed_pages: of these, for want of memory or because of a limit, pages
-- column bytes: bytes of the pages, bytes
WITH named AS (
    SELECT tgid, max(comm) AS comm
    FROM (SELECT tgid, comm FROM neighbours UNION ALL SELECT tgid, comm FROM threads WHERE tid = tgid) AS one
    GROUP BY tgid
), heaviest AS (
    SELECT tgid FROM page_cache WHERE evicted_pages > 0 GROUP BY tgid ORDER BY sum(evicted_pages) DESC, tgid LIMIT 40
)
SELECT
    greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    max(n.comm) AS comm,
    p.tgid,
    CAST(sum(p.evicted_pages) AS BIGINT) AS pages,
    CAST(sum(p.reclaimed_pages) AS BIGINT) AS reclaimed_pages,
    CAST(sum(p.evicted_pages * r.page_bytes) AS BIGINT) AS bytes
FROM page_cache p
CROSS JOIN recording r
CROSS JOIN chart_cells c
JOIN heaviest h ON h.tgid IS NOT DISTINCT FROM p.tgid
LEFT JOIN named n ON n.tgid = p.tgid
WHERE p.evicted_pages > 0
GROUP BY greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), p.tgid
ORDER BY pages DESC, p.tgid, at_s
