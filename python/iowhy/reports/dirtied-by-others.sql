-- title: Pages that others made dirty
-- question: Which processes outside the command made pages dirty on the filesystems of its files?
-- stands in for: writeback_dirty_folio probes
-- filters: since until
-- about: comm tgid mount bytes
-- column comm: process; NULL where its name was not seen, text
-- column tgid: process, id
-- column mount: where the filesystem is mounted, text
-- column dev: filesystem, id
-- column pages: pages that became dirty, pages
-- column bytes: their bytes, bytes
-- column container: container, service or session that the process was in; NULL in none, text
SELECT
    n.comm,
    d.tgid,
    f.mount,
    d.dev,
    sum(d.pages) AS pages,
    sum(d.pages) * max(r.page_bytes) AS bytes,
    max(n.container) AS container
FROM dirtied_by_others d
CROSS JOIN recording r
LEFT JOIN named_processes n ON n.tgid = d.tgid
LEFT JOIN (SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev) f ON f.dev = d.dev
GROUP BY n.comm, d.tgid, f.mount, d.dev
ORDER BY pages DESC, d.tgid, d.dev
