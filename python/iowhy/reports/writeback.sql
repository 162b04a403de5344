-- title: Writeback
-- question: Who wrote dirty pages back, over how many inodes, and how many pages at a time?
-- stands in for: writeback_single_inode probes
-- about: filesystem reason passes pages pages_per_pass small_share hop_share
-- column filesystem: mount point of the filesystem, text
-- column reason: background, periodic, sync, fsync (a caller's own) and others, text
-- column passes: passes over one inode that wrote pages, count
-- column inodes: different inodes, count
-- column pages: pages written, pages
-- column pages_per_pass: mean pages of a pass, pages
-- column p50_pages: median pages of a pass, pages
-- column small_share: passes of at most 16 pages (64 KiB with pages of 4 KiB), share
-- column hop_share: passes over another inode than the pass before on this filesystem, share
-- column dur_ns: lengths of the passes, ns
-- column mean_age_ns: mean age of the dirt, ns
-- column threads: threads that wrote back, count
-- column own: the command uses the filesystem, bool
WITH mounts AS (
    SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev
)
SELECT
    coalesce(m.mount, CAST(w.dev >> 20 AS VARCHAR) || ':' || CAST(w.dev & 1048575 AS VARCHAR))
        AS filesystem,
    w.reason,
    count(*) AS passes,
    count(DISTINCT w.ino) AS inodes,
    sum(w.pages_written) AS pages,
    sum(w.pages_written) / count(*) AS pages_per_pass,
    quantile_cont(w.pages_written, 0.5) AS p50_pages,
    count(*) FILTER (WHERE w.pages_written <= 16) / count(*) AS small_share,
    count(*) FILTER (WHERE w.ino <> w.previous_ino) / nullif(count(w.previous_ino), 0) AS hop_share,
    sum(w.dur_ns) AS dur_ns,
    avg(w.dirtied_age_ns) AS mean_age_ns,
    count(DISTINCT w.tid) AS threads,
    w.own
FROM writeback_passes w
LEFT JOIN mounts m ON m.dev = w.dev
GROUP BY 1, 2, w.own
ORDER BY pages DESC, filesystem, reason
