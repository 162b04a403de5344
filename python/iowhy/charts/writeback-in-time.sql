-- title: Writeback
-- question: Who wrote dirty pages back in the chosen time, and how many?
-- report: writeback
-- draws: narrowed
-- place: 243
-- needs: writeback
-- By when the passes ended.
-- column filesystem: mount point of the filesystem, text
-- column reason: background, periodic, sync, fsync (a caller's own) and others, text
-- column passes: passes over one inode that wrote pages, count
-- column pages: pages written, pages
-- column total_ns: lengths of the passes, ns
-- column max_ns: the longest, ns
-- column small_passes: passes of at most 16 pages, count
-- column hops: passes over another inode than the pass before on this filesystem, count
SELECT
    w.ts_ns,
    coalesce(m.mount, CAST(w.dev >> 20 AS VARCHAR) || ':' || CAST(w.dev & 1048575 AS VARCHAR)) AS filesystem,
    w.reason, 1 AS passes, w.pages_written AS pages, w.dur_ns AS total_ns, w.dur_ns AS max_ns,
    CASE WHEN w.pages_written <= 16 THEN 1 ELSE 0 END AS small_passes,
    CASE WHEN w.ino <> w.previous_ino THEN 1 ELSE 0 END AS hops
FROM writeback_passes w
LEFT JOIN (SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev) m ON m.dev = w.dev
