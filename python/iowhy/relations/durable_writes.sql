-- title: A call that wrote and waited until it was durable (O_SYNC, O_DSYNC)
-- kept: table
-- Such a call waits for its own pages, the log or a flush, which a write to the page cache does not.
-- A wait belongs to the call of its thread that it began in.
-- column tid: thread, id
-- column ts_ns: when the call began, ns
WITH waited AS (
    SELECT w.tid, w.ts_ns, x.part
    FROM waits w
    JOIN wait_kinds x ON x.reason = w.reason
    LEFT JOIN call_kinds k ON k.name = w.syscall
    WHERE (w.syscall IS NULL OR k.kind IN ('write', 'copy'))
        AND (x.part IN ('commit', 'flush') OR x.budget = 'writeback')
), calls AS (
    SELECT s.tid, s.ts_ns, s.ts_ns + s.dur_ns AS end_ns, k.kind
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    WHERE k.kind IN ('write', 'copy') AND s.blocked_ns > 0 AND s.tid IN (SELECT tid FROM waited)
), in_order AS (
    SELECT tid, ts_ns, 0 AS is_wait, ts_ns AS call_ns, CAST(NULL AS VARCHAR) AS part FROM calls
    UNION ALL
    SELECT tid, ts_ns, 1, NULL, part FROM waited
), last_call AS (
    SELECT
        tid,
        ts_ns,
        is_wait,
        part,
        max(call_ns) OVER (PARTITION BY tid ORDER BY ts_ns, is_wait ROWS UNBOUNDED PRECEDING)
            AS call_ns
    FROM in_order
)
SELECT DISTINCT c.tid, c.ts_ns
FROM last_call w
JOIN calls c ON c.tid = w.tid AND c.ts_ns = w.call_ns
WHERE w.is_wait = 1 AND w.ts_ns < c.end_ns AND (c.kind = 'write' OR w.part IN ('commit', 'flush'))
