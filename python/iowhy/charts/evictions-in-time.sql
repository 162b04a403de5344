-- title: Evicted pages
-- question: Who took pages of its files out of the page cache in the chosen time?
-- report: evictions
-- draws: narrowed
-- place: 250
-- needs: page_cache
-- heaviest: 40 by sum(pages) DESC
-- By the intervals in which they were counted; forty processes.
-- column comm: process, text
-- column tgid: process, id
-- column pages: pages of the command's files, pages
-- column reclaimed_pages: of these, for want of memory or because of a limit, pages
-- column bytes: bytes of the pages, bytes
SELECT p.ts_ns, n.comm, p.tgid, p.evicted_pages AS pages, p.reclaimed_pages, p.evicted_pages * r.page_bytes AS bytes
FROM page_cache p
CROSS JOIN recording r
LEFT JOIN named_processes n ON n.tgid = p.tgid
WHERE p.evicted_pages > 0
