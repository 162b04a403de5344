-- title: What each sync call waited for
-- uses: _sync_waits, filesystems, flush_requests
-- A wait for the journal is split: what overlaps with a flush of the filesystem's disk (issue to
-- completion, overlapping flushes taken once) is device flush, the rest is journal. Of an operation of io_uring or libaio only what
-- overlaps with such a flush is known. Where block
-- requests were not seen, that part stays in journal_ns. A filesystem whose disk is not recorded is
-- taken to be on the device of its own number, as it does when it fills a whole disk.
-- column name: the sync call, text
-- column own_ns: for the file's own pages, ns
-- column queue_ns: for a place in the queue of a device that is busy with writes, ns
-- column journal_ns: for the journal or log, less the device flushes in it, ns
-- column flush_ns: for the device to empty its cache, ns
-- column others_ns: behind other writers or for a limit, ns
WITH disks AS (
    SELECT dev, max(disk_dev) AS disk_dev FROM filesystems GROUP BY dev
), edges AS (
    SELECT dev, t_ns, step, sign, name
    FROM (
        SELECT
            f.dev, CASE WHEN s.step > 0 THEN f.begin_ns ELSE f.complete_ns END AS t_ns, s.step, 0 AS sign,
            CAST(NULL AS VARCHAR) AS name
        FROM flush_requests f
        CROSS JOIN (SELECT 1 AS step UNION ALL SELECT -1) AS s
        WHERE f.complete_ns > f.begin_ns
        UNION ALL
        SELECT
            coalesce(d.disk_dev, w.dev), CASE WHEN s.sign < 0 THEN w.ts_ns ELSE w.end_ns END, 0, s.sign, w.name
        FROM _sync_waits w
        CROSS JOIN (SELECT -1 AS sign UNION ALL SELECT 1) AS s
        LEFT JOIN disks d ON d.dev = w.dev
        WHERE w.part IN ('commit', 'operation') AND w.dev IS NOT NULL
    ) AS e
    ORDER BY dev, t_ns
), levels AS (
    -- A device ends with none under way, so that the sums may go on from one to the next.
    SELECT
        dev,
        t_ns,
        sign,
        name,
        (lead(t_ns) OVER ()) - t_ns AS span_ns,
        sum(step) OVER (ROWS UNBOUNDED PRECEDING) AS depth
    FROM edges
), flushing AS (
    SELECT dev, t_ns, sign, name, CASE WHEN depth > 0 THEN span_ns ELSE 0 END AS flush_ns FROM levels
), passed AS (
    -- Time with a flush under way that had passed by each moment. The difference of two moments is the overlap.
    SELECT sign, name, (sum(flush_ns) OVER (ROWS UNBOUNDED PRECEDING)) - flush_ns AS passed_ns FROM flushing
), overlap AS (
    SELECT name, sum(sign * passed_ns) AS flush_ns FROM passed WHERE sign <> 0 GROUP BY name
), parts AS (
    SELECT
        name,
        sum(CASE WHEN part = 'own' THEN dur_ns ELSE 0 END) AS own_ns,
        sum(CASE WHEN part = 'queue' THEN dur_ns ELSE 0 END) AS queue_ns,
        sum(CASE WHEN part IN ('commit', 'journal') THEN dur_ns ELSE 0 END) AS journal_ns,
        sum(CASE WHEN part = 'flush' THEN dur_ns ELSE 0 END) AS flush_ns,
        sum(CASE WHEN part = 'others' THEN dur_ns ELSE 0 END) AS others_ns,
        max(CASE WHEN part = 'operation' THEN 1 ELSE 0 END) AS asynchronous
    FROM _sync_waits
    GROUP BY name
)
SELECT
    p.name,
    CASE WHEN p.asynchronous = 0 THEN p.own_ns END AS own_ns,
    CASE WHEN p.asynchronous = 0 THEN p.queue_ns END AS queue_ns,
    CASE WHEN p.asynchronous = 0 THEN p.journal_ns - coalesce(o.flush_ns, 0) END AS journal_ns,
    p.flush_ns + coalesce(o.flush_ns, 0) AS flush_ns,
    CASE WHEN p.asynchronous = 0 THEN p.others_ns END AS others_ns
FROM parts p
LEFT JOIN overlap o ON o.name = p.name
