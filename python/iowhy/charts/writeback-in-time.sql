-- title: Writeback
-- question: Who wrote dirty pages back in the chosen time, and how many?
-- report: writeback
-- draws: narrowed
-- place: 243
-- needs: writeback
-- By when the passes ended.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column filesystem: mount point of the filesystem, text
-- column reason: background, periodic, sync, fsync (a caller's own) and others, text
-- column passes: passes over one inode that wrote pages, count
-- column pages: pages written, pages
-- column total_ns: lengths of the passes, ns
-- column max_ns: the longest, ns
-- column small_passes: passes of at most 16 pages, count
-- column hops: passes over another inode than the pass before on this filesystem, count
WITH mounts AS (
    SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev
)
SELECT
    greatest(least((w.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    coalesce(m.mount, CAST(w.dev >> 20 AS VARCHAR) || ':' || CAST(w.dev & 1048575 AS VARCHAR))
        AS filesystem,
    w.reason,
    count(*) AS passes,
    CAST(sum(w.pages_written) AS BIGINT) AS pages,
    CAST(sum(w.dur_ns) AS BIGINT) AS total_ns,
    max(w.dur_ns) AS max_ns,
    count(CASE WHEN w.pages_written <= 16 THEN 1 END) AS small_passes,
    count(CASE WHEN w.ino <> w.previous_ino THEN 1 END) AS hops
FROM writeback_passes w
CROSS JOIN chart_cells c
LEFT JOIN mounts m ON m.dev = w.dev
GROUP BY greatest(least((w.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), coalesce(m.mount, CAST(w.dev >> 20 AS VARCHAR) || ':' || CAST(w.dev & 1048575 AS VARCHAR)), w.reason
ORDER BY pages DESC, filesystem, w.reason, at_s
