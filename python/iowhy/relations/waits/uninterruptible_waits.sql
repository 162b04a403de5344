-- title: An uninterruptible wait, with the call that it was in
-- uses: blocked_calls, metadata_waits, threads, waits
-- filtered as: waits
-- The reason is what the thread waits for: a block that is locked while it is read or written is that (metadata_block_io).
-- Where waits were not recorded, the uninterruptible time of single calls replaces them: it is
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
-- column dev: filesystem of the file of the call, or of the page fault; NULL if not known, id
SELECT ts_ns, dur_ns, blocked_ns, tgid, tid, reason, recorded_reason, syscall, io, dev FROM blocked_calls
UNION ALL
SELECT ts_ns, dur_ns, blocked_ns, tgid, tid, reason, recorded_reason, syscall, io, dev FROM metadata_waits
UNION ALL
SELECT
    w.ts_ns, w.dur_ns, w.dur_ns, w.tgid, w.tid, w.reason, w.reason,
    CASE WHEN w.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE w.syscall END,
    w.io, w.dev
FROM waits w
LEFT JOIN (SELECT DISTINCT tid FROM threads WHERE comm LIKE 'iou-wrk-%') u ON u.tid = w.tid
WHERE w.dur_ns > 0 AND w.reason <> 'metadata_lock'
