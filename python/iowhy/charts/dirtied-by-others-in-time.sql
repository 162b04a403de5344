-- title: Pages that others made dirty
-- question: Which processes outside the command made pages dirty in the chosen time?
-- report: dirtied-by-others
-- draws: narrowed
-- place: 249
-- needs: dirtied_by_others
-- The forty processes with most pages, by the intervals in which they were counted.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column comm: process; NULL where its name was not seen, text
-- column tgid: process, id
-- column mount: where the filesystem is mounted, text
-- column pages: pages that became dirty, pages
-- column bytes: their bytes, bytes
WITH heaviest AS (
    SELECT tgid FROM dirtied_by_others GROUP BY tgid ORDER BY sum(pages) DESC, tgid LIMIT 40
)
SELECT
    greatest(least((d.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    max(n.comm) AS comm,
    d.tgid,
    max(f.mount) AS mount,
    CAST(sum(d.pages) AS BIGINT) AS pages,
    CAST(sum(d.pages * r.page_bytes) AS BIGINT) AS bytes
FROM dirtied_by_others d
CROSS JOIN recording r
CROSS JOIN chart_cells c
JOIN heaviest h ON h.tgid = d.tgid
LEFT JOIN (SELECT tgid, max(comm) AS comm FROM neighbours GROUP BY tgid) n ON n.tgid = d.tgid
LEFT JOIN (SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev) f ON f.dev = d.dev
GROUP BY greatest(least((d.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), d.tgid, d.dev
ORDER BY pages DESC, d.tgid, mount, at_s
