-- title: The sums of the waits of one thread for one reason in one call on one filesystem
-- uses: blocked_calls, metadata_waits, threads, wait_sums
-- filtered as: nothing
-- kept: table
-- Reasons and calls are those of uninterruptible_waits: of waits for a locked
-- block each is looked at.
-- column tgid: process, id
-- column tid: thread, id
-- column reason: reason; NULL where only calls were recorded, text
-- column syscall: call, text
-- column io: whether the kernel counts it as I/O wait, bool
-- column dev: filesystem of the file of the call, or of the page fault; NULL if not known, id
-- column count: waits, count
-- column total_ns: their lengths, ns
SELECT
    s.tgid, s.tid, s.reason,
    CASE WHEN s.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE s.syscall END AS syscall,
    s.io, s.dev, s.count, s.total_ns
FROM wait_sums s
LEFT JOIN (SELECT DISTINCT tid FROM threads WHERE comm LIKE 'iou-wrk-%') u ON u.tid = s.tid
WHERE s.reason <> 'metadata_lock'
UNION ALL
SELECT tgid, tid, reason, syscall, io, dev, count(*), sum(dur_ns)
FROM metadata_waits
GROUP BY tgid, tid, reason, syscall, io, dev
UNION ALL
SELECT tgid, tid, reason, syscall, io, dev, count(*), sum(dur_ns)
FROM blocked_calls
GROUP BY tgid, tid, reason, syscall, io, dev
