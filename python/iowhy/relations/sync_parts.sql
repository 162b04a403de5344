-- title: What each sync call waited for
-- A wait for the journal is split: what overlaps with a flush of the filesystem's disk (issue to
-- completion, overlapping flushes taken once) is device flush, the rest is journal. Where block
-- requests were not seen, that part stays in journal_ns. A filesystem whose disk is not recorded is
-- taken to lie on the device of its own number, as it does when it fills a whole disk.
-- column name: the sync call, text
-- column own_ns: for the file's own pages, ns
-- column queue_ns: for a place in the queue of a device that is busy with writes, ns
-- column journal_ns: for the journal or log, less the device flushes in it, ns
-- column flush_ns: for the device to empty its cache, ns
-- column others_ns: behind other writers or for a limit, ns
WITH disks AS (
    SELECT dev, max(disk_dev) AS disk_dev FROM filesystems GROUP BY dev
), moments AS (
    SELECT dev, begin_ns AS t_ns, 0 AS sign, end_ns - begin_ns AS flush_ns, end_ns, NULL AS name
    FROM flushing_spans
    UNION ALL
    SELECT coalesce(d.disk_dev, w.dev), w.ts_ns, -1, 0, NULL, w.name
    FROM sync_waits w LEFT JOIN disks d ON d.dev = w.dev
    WHERE w.part = 'commit' AND w.dev IS NOT NULL
    UNION ALL
    SELECT coalesce(d.disk_dev, w.dev), w.end_ns, 1, 0, NULL, w.name
    FROM sync_waits w LEFT JOIN disks d ON d.dev = w.dev
    WHERE w.part = 'commit' AND w.dev IS NOT NULL
), passed AS (
    -- Flush time that had passed on the disk by each moment: the flushes begun so far, less what
    -- the last one still has to go. The difference of two moments is the overlap.
    SELECT
        name,
        sign,
        sum(flush_ns) OVER w - greatest(coalesce(max(end_ns) OVER w, t_ns) - t_ns, 0) AS passed_ns
    FROM moments
    WINDOW w AS (PARTITION BY dev ORDER BY t_ns, flush_ns DESC ROWS UNBOUNDED PRECEDING)
), overlap AS (
    SELECT name, sum(sign * passed_ns) AS flush_ns FROM passed WHERE sign <> 0 GROUP BY name
), parts AS (
    SELECT
        name,
        sum(CASE WHEN part = 'own' THEN dur_ns ELSE 0 END) AS own_ns,
        sum(CASE WHEN part = 'queue' THEN dur_ns ELSE 0 END) AS queue_ns,
        sum(CASE WHEN part IN ('commit', 'journal') THEN dur_ns ELSE 0 END) AS journal_ns,
        sum(CASE WHEN part = 'flush' THEN dur_ns ELSE 0 END) AS flush_ns,
        sum(CASE WHEN part = 'others' THEN dur_ns ELSE 0 END) AS others_ns
    FROM sync_waits
    GROUP BY name
)
SELECT
    p.name,
    p.own_ns,
    p.queue_ns,
    p.journal_ns - coalesce(o.flush_ns, 0) AS journal_ns,
    p.flush_ns + coalesce(o.flush_ns, 0) AS flush_ns,
    p.others_ns
FROM parts p
LEFT JOIN overlap o ON o.name = p.name
