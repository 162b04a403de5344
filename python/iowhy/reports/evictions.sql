-- title: Evicted pages
-- question: Who took pages of its files out of the page cache, and for want of memory or not?
-- stands in for: mm_vmscan and mm_filemap_delete_from_page_cache probes
-- filters: none
-- about: comm tgid how bytes share
-- column comm: process, text
-- column tgid: process, id
-- column own: it is the command's, bool
-- column how: kswapd, damon, reclaim (for its own need or its group's limit) or dropped (drop_caches, fadvise), text
-- column pages: pages of the command's files, pages
-- column bytes: their bytes, bytes
-- column share: of all that were evicted, share
-- column again: of files of which pages were read again: what else left was not missed, bool
SELECT
    e.comm,
    e.tgid,
    e.own,
    e.how,
    e.pages,
    e.pages * r.page_bytes AS bytes,
    e.pages / sum(e.pages) OVER () AS share,
    e.again
FROM page_evictors e
CROSS JOIN recording r
ORDER BY e.pages DESC, e.tgid, e.how, e.again
