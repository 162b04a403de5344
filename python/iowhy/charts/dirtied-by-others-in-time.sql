-- title: Pages that others made dirty
-- question: Which processes outside the command made pages dirty in the chosen time?
-- report: dirtied-by-others
-- draws: narrowed
-- place: 249
-- needs: dirtied_by_others
-- heaviest: 40 by sum(pages) DESC
-- The forty processes with most pages, by the intervals in which they were counted.
-- column comm: process; NULL where its name was not seen, text
-- column tgid: process, id
-- column mount: where the filesystem is mounted, text
-- column pages: pages that became dirty, pages
-- column bytes: their bytes, bytes
SELECT d.ts_ns, n.comm, d.tgid, f.mount, d.pages, d.pages * r.page_bytes AS bytes
FROM dirtied_by_others d
CROSS JOIN recording r
LEFT JOIN named_processes n ON n.tgid = d.tgid
LEFT JOIN (SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev) f ON f.dev = d.dev
