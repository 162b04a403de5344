-- title: A flush of a device's write cache, counted once
-- uses: flush_requests, flush_targets, recording, sync_calls, waits, written_devices
-- filtered as: block_requests
-- kept: table
-- flush_requests says what a flush is. One that a kernel thread makes is the command's when the command waited for one
-- of that device as it was queued: in a sync call, or for the journal or the device (io_uring), on a filesystem whose
-- flushes may be of that device (flush_targets), and it wrote to the device. Where neither calls nor waits were
-- recorded, it is taken for the command's.
-- column dev: block device, id
-- column queue_ns: when it was queued, ns
-- column begin_ns: when it was handed to the driver, else queued, ns
-- column complete_ns: when the device was done; NULL: not seen, ns
-- column tgid: process that submitted it, id
-- column tid: thread that submitted it, id
-- column owner_dev: filesystem of the file that it is of, id
-- column owner_ino: inode of that file, id
-- column counted: false for what is seen again on a device below, bool
-- column of_command: the command's, bool
WITH shared AS (
    SELECT DISTINCT dev, queue_ns FROM flush_requests WHERE in_scope IS NULL AND dev IN (SELECT dev FROM written_devices)
), spans AS (
    SELECT s.dev AS filesystem, s.ts_ns AS t_ns, s.end_ns FROM sync_calls s WHERE s.end_ns IS NOT NULL
    UNION ALL
    SELECT dev, ts_ns, ts_ns + dur_ns FROM waits
    WHERE reason IN ('device_flush', 'journal_commit', 'log_force')
), reach AS (
    SELECT f.filesystem, d.dev
    FROM (SELECT DISTINCT filesystem FROM spans) AS f
    CROSS JOIN (SELECT DISTINCT dev FROM shared) AS d
    LEFT JOIN (SELECT DISTINCT dev FROM flush_targets) AS k ON k.dev = f.filesystem
    LEFT JOIN flush_targets t ON t.dev = f.filesystem AND t.disk_dev = d.dev
    WHERE k.dev IS NULL OR t.dev IS NOT NULL
), in_order AS (
    -- Calls of the same moment count.
    SELECT r.dev, s.t_ns, s.end_ns FROM spans s JOIN reach r ON r.filesystem IS NOT DISTINCT FROM s.filesystem
    UNION ALL
    SELECT dev, queue_ns, NULL FROM shared
), since AS (
    -- At each moment, until when the command waits for a flush.
    SELECT
        dev,
        t_ns,
        end_ns,
        max(end_ns) OVER (PARTITION BY dev ORDER BY t_ns, end_ns NULLS LAST ROWS UNBOUNDED PRECEDING) AS waits_until_ns
    FROM in_order
), waited AS (
    SELECT DISTINCT dev, t_ns FROM since WHERE end_ns IS NULL AND waits_until_ns >= t_ns
)
SELECT
    s.dev,
    s.queue_ns,
    s.begin_ns,
    s.complete_ns,
    s.tgid,
    s.tid,
    s.owner_dev,
    s.owner_ino,
    s.counted,
    coalesce(s.in_scope, w.t_ns IS NOT NULL OR NOT (r.has_calls OR r.has_waits)) AS of_command
FROM flush_requests s
CROSS JOIN recording r
LEFT JOIN waited w ON w.dev = s.dev AND w.t_ns = s.queue_ns
