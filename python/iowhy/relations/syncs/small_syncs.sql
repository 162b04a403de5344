-- title: A sync call for a file of which each writes little, and for how long of it other data was on its way to the same disk
-- uses: command_data_requests, filesystems, sync_calls
-- Little is at most 1 MiB per call on the average of a file that was synced ten times or more: a log, in which each transaction is a few
-- pages. Other data is what the command writes to files that are not of this kind. A filesystem whose disk is not
-- recorded is on the device of the file's requests, else on that of its own number.
-- kept: table
-- column tid: thread that made it, id
-- column ts_ns: when it began, ns
-- column dur_ns: its duration, ns
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column disk_dev: the disk of that filesystem, id
-- column meeting_ns: of dur_ns, with a write of other data in flight there, ns
WITH disks AS (
    SELECT dev, max(disk_dev) AS disk_dev FROM filesystems GROUP BY dev
), written AS (
    SELECT owner_dev AS dev, owner_ino AS ino, sum(bytes) AS bytes, max(dev) AS disk_dev
    FROM command_data_requests
    WHERE op = 'write' AND owner_ino IS NOT NULL
    GROUP BY owner_dev, owner_ino
), small AS (
    SELECT s.dev, s.ino, max(w.disk_dev) AS disk_dev
    FROM sync_calls s
    LEFT JOIN written w ON w.dev = s.dev AND w.ino = s.ino
    WHERE s.ino IS NOT NULL
    GROUP BY s.dev, s.ino
    HAVING count(*) >= 10 AND coalesce(max(w.bytes), 0) <= 1048576 * count(*)
), calls AS (
    SELECT c.tid, c.ts_ns, c.end_ns, c.dur_ns, c.dev, c.ino, coalesce(d.disk_dev, s.disk_dev, c.dev) AS disk_dev
    FROM sync_calls c
    JOIN small s ON s.dev = c.dev AND s.ino = c.ino
    LEFT JOIN disks d ON d.dev = c.dev
    WHERE c.end_ns IS NOT NULL
), others AS (
    SELECT q.dev, q.queue_ns, q.complete_ns
    FROM command_data_requests q
    LEFT JOIN small s ON s.dev = q.owner_dev AND s.ino = q.owner_ino
    WHERE q.op = 'write' AND q.owner_kind = 'data' AND s.ino IS NULL AND q.complete_ns > q.queue_ns
), edges AS (
    SELECT dev, queue_ns AS t_ns, 1 AS step, 0 AS sign, CAST(NULL AS BIGINT) AS tid, CAST(NULL AS BIGINT) AS ts_ns FROM others
    UNION ALL
    SELECT dev, complete_ns, -1, 0, NULL, NULL FROM others
    UNION ALL
    SELECT disk_dev, ts_ns, 0, -1, tid, ts_ns FROM calls
    UNION ALL
    SELECT disk_dev, end_ns, 0, 1, tid, ts_ns FROM calls
), levels AS (
    SELECT
        sign,
        tid,
        ts_ns,
        (lead(t_ns) OVER (PARTITION BY dev ORDER BY t_ns, tid, sign)) - t_ns AS span_ns,
        sum(step) OVER (PARTITION BY dev ORDER BY t_ns, tid, sign ROWS UNBOUNDED PRECEDING) AS depth,
        dev,
        t_ns
    FROM edges
), passed AS (
    -- Time with such a write in flight that had passed by each moment. The difference of two moments is the overlap.
    SELECT
        sign,
        tid,
        ts_ns,
        sum(CASE WHEN depth > 0 THEN span_ns ELSE 0 END) OVER (
            PARTITION BY dev ORDER BY t_ns, tid, sign ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS passed_ns
    FROM levels
), overlap AS (
    SELECT tid, ts_ns, sum(sign * coalesce(passed_ns, 0)) AS meeting_ns FROM passed WHERE sign <> 0 GROUP BY tid, ts_ns
)
SELECT c.tid, c.ts_ns, c.dur_ns, c.dev, c.ino, c.disk_dev, CAST(o.meeting_ns AS BIGINT) AS meeting_ns
FROM calls c
JOIN overlap o ON o.tid = c.tid AND o.ts_ns = c.ts_ns
