-- title: A durable write, if it is not the recorder's sums that say which writes are (recording.tells_durable)
-- uses: call_kinds, file_operations, recording, syscalls, wait_kinds, waits
-- kept: table
-- Flags of the file, the call, the inode or the mount may say so. Where the recording does not have them (those of
-- earlier versions, other tools' output), it is a call that waits for its own pages, the log or a flush, which a write to the page
-- cache seldom does. A wait belongs to the call of its thread that it began in. The columns are those of durable_writes.
-- column tid: thread, id
WITH untold AS (
    SELECT s.tid, s.ts_ns, s.ts_ns + s.dur_ns AS end_ns, k.kind = 'write' AS writes
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    CROSS JOIN recording r
    WHERE NOT r.tells_durable AND k.kind IN ('write', 'copy') AND s.durable IS NULL AND s.blocked_ns > 0
), waited AS (
    SELECT w.tid, w.ts_ns, x.part IN ('commit', 'flush') AS by_any
    FROM waits w
    JOIN wait_kinds x ON x.reason = w.reason
    LEFT JOIN call_kinds k ON k.name = w.syscall
    WHERE (w.syscall IS NULL OR k.kind IN ('write', 'copy'))
        AND (x.part IN ('commit', 'flush') OR x.budget = 'writeback')
        AND w.tid IN (SELECT tid FROM untold)
), calls AS (
    SELECT tid, ts_ns, end_ns, writes FROM untold WHERE tid IN (SELECT tid FROM waited)
), in_order AS (
    -- A call is before a wait of the same moment.
    SELECT *
    FROM (
        SELECT tid, ts_ns, end_ns, writes, false AS by_any FROM calls
        UNION ALL
        SELECT tid, ts_ns, NULL, NULL, coalesce(by_any, false) FROM waited
    ) AS e
    ORDER BY tid, ts_ns, end_ns NULLS LAST
), numbered AS (
    SELECT *, row_number() OVER () AS number FROM in_order
), last_call AS (
    SELECT
        tid,
        ts_ns,
        end_ns,
        by_any,
        max(CASE WHEN end_ns IS NOT NULL THEN number END) OVER (ROWS UNBOUNDED PRECEDING) AS call_number
    FROM numbered
), found AS (
    SELECT DISTINCT c.tid, c.ts_ns
    FROM last_call w
    JOIN numbered c ON c.number = w.call_number AND c.tid = w.tid
    WHERE w.end_ns IS NULL AND w.ts_ns < c.end_ns AND (c.writes OR w.by_any)
)
SELECT
    s.tid,
    s.ts_ns,
    s.dur_ns,
    s.cpu_ns,
    s.runnable_ns,
    s.blocked_ns,
    s.sleeping_ns,
    s.name,
    s.dev,
    s.ino,
    s.bytes,
    s.ret,
    s.asynchronous
FROM file_operations s
JOIN call_kinds k ON k.name = s.name
CROSS JOIN recording r
LEFT JOIN found u ON u.tid = s.tid AND u.ts_ns = s.ts_ns
WHERE NOT r.tells_durable AND k.kind IN ('write', 'copy') AND coalesce(s.durable, u.tid IS NOT NULL)
