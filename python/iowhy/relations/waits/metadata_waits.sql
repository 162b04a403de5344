-- title: A wait for a locked block of the filesystem's own, which is the block's I/O or for who changes it (metadata_block_io)
-- uses: _metadata_locks, metadata_block_io, threads
-- filtered as: nothing
-- The columns are those of uninterruptible_waits.
-- column ts_ns: start, ns
-- column recorded_reason: metadata_lock, text
SELECT
    w.ts_ns, w.dur_ns, w.dur_ns AS blocked_ns, w.tgid, w.tid, coalesce(l.reason, 'metadata_lock') AS reason,
    'metadata_lock' AS recorded_reason,
    CASE WHEN w.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE w.syscall END AS syscall,
    w.io, w.dev
FROM _metadata_locks w
LEFT JOIN (SELECT DISTINCT tid FROM threads WHERE comm LIKE 'iou-wrk-%') u ON u.tid = w.tid
LEFT JOIN metadata_block_io l ON l.tid = w.tid AND l.ts_ns = w.ts_ns
