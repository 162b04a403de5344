-- title: An uninterruptible wait, with the call that it was in
-- filtered as: waits
-- The reason is what the thread waits for: a block that is locked while it is read or written is that (locked_for_io).
-- Where waits were not recorded, the uninterruptible time of single calls stands for them: it lies
-- somewhere in the call, and its reason is not known.
-- column ts_ns: start, ns
-- column dur_ns: length, ns
-- column blocked_ns: how much of the length was uninterruptible sleep, ns
-- column tgid: process, id
-- column tid: thread, id
-- column reason: reason of the recorder or of another tool; NULL where only calls were recorded, text
-- column recorded_reason: reason of the row itself, text
-- column syscall: call; `io_uring worker` in a thread of the kernel that makes none; NULL in a page fault, text
-- column io: whether the kernel counts it as I/O wait, bool
-- column dev: filesystem of the file of the call, or of the page fault; NULL where it is not known, id
-- when syscalls and not ran waits and not waits
SELECT
    ts_ns, dur_ns, blocked_ns, tgid, tid, CAST(NULL AS VARCHAR) AS reason,
    CAST(NULL AS VARCHAR) AS recorded_reason, name AS syscall, CAST(NULL AS BOOLEAN) AS io, dev
FROM main.syscalls
WHERE blocked_ns > 0 AND dur_ns > 0
-- else
WITH workers AS (SELECT DISTINCT tid FROM main.threads WHERE comm LIKE 'iou-wrk-%')
SELECT
    w.ts_ns, w.dur_ns, w.dur_ns AS blocked_ns, w.tgid, w.tid, coalesce(l.reason, 'metadata_lock') AS reason,
    'metadata_lock' AS recorded_reason,
    CASE WHEN w.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE w.syscall END AS syscall,
    w.io, w.dev
FROM main.metadata_locks w
LEFT JOIN workers u ON u.tid = w.tid
LEFT JOIN main.locked_for_io l ON l.tid = w.tid AND l.ts_ns = w.ts_ns
UNION ALL
SELECT
    w.ts_ns, w.dur_ns, w.dur_ns, w.tgid, w.tid, w.reason, w.reason,
    CASE WHEN w.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE w.syscall END,
    w.io, w.dev
FROM main.waits w
LEFT JOIN workers u ON u.tid = w.tid
WHERE w.dur_ns > 0 AND w.reason <> 'metadata_lock'
