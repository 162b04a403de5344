-- title: A wait inside a sync call, and which part of that call it is
-- uses: call_kinds, sync_calls, wait_kinds, waits
-- kept: table
-- A wait belongs to the call of its thread that it began in, and ends with that at the latest. In an operation of io_uring or libaio no
-- thread waits: it is one wait, whose part is `operation`.
-- column name: the sync call, text
-- column part: own (the file's own pages), queue, commit (of the journal, with a flush in it), journal, flush, others, operation or other, text
-- column ts_ns: its begin, ns
-- column end_ns: its end, ns
-- column dur_ns: its length, ns
-- column dev: what it waited for, else the filesystem of the call's file, id
WITH in_order AS (
    SELECT tid, ts_ns, 0 AS is_wait, ts_ns AS call_ns, CAST(NULL AS BIGINT) AS wait_end_ns,
        CAST(NULL AS VARCHAR) AS reason, CAST(NULL AS BIGINT) AS wait_dev
    FROM sync_calls
    WHERE NOT asynchronous
    UNION ALL
    SELECT w.tid, w.ts_ns, 1, NULL, w.ts_ns + w.dur_ns, w.reason, w.dev
    FROM waits w
    LEFT JOIN call_kinds k ON k.name = w.syscall
    WHERE w.syscall IS NULL OR k.kind IN ('sync', 'write', 'copy')
), last_call AS (
    SELECT
        tid,
        ts_ns,
        is_wait,
        wait_end_ns,
        reason,
        wait_dev,
        max(call_ns) OVER (PARTITION BY tid ORDER BY ts_ns, is_wait ROWS UNBOUNDED PRECEDING)
            AS call_ns
    FROM in_order
)
SELECT
    c.name,
    coalesce(x.part, 'other') AS part,
    w.ts_ns,
    least(w.wait_end_ns, c.end_ns) AS end_ns,
    least(w.wait_end_ns, c.end_ns) - w.ts_ns AS dur_ns,
    coalesce(w.wait_dev, c.dev) AS dev
FROM last_call w
JOIN sync_calls c ON c.tid = w.tid AND c.ts_ns = w.call_ns AND NOT c.asynchronous
LEFT JOIN wait_kinds x ON x.reason = w.reason
WHERE w.is_wait = 1 AND w.ts_ns < c.end_ns
UNION ALL
SELECT name, 'operation', ts_ns, end_ns, dur_ns, dev
FROM sync_calls
WHERE asynchronous AND end_ns IS NOT NULL
