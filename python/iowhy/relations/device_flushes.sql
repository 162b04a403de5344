-- title: A flush of a device's write cache, counted once
-- filtered as: block_requests
-- kept: table
-- Who asks for a flush sends a write without data, which the block layer turns into a flush of its
-- own: that counts. Where a source shows no flushes of a device, the writes without data do. A flush
-- that a kernel thread makes is the command's when the command waited for one as it was queued: in a
-- sync call, or for the journal or the device (io_uring), on a device that it wrote to. Where
-- neither calls nor waits were recorded, it is taken for the command's.
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
-- when syscalls or waits
WITH asked AS (
    SELECT dev, queue_ns, sent_ns, complete_ns, tgid, tid, owner_dev, owner_ino, in_scope, counted, op
    FROM main.counted_requests
    WHERE op = 'flush' OR (op = 'write' AND bytes = 0 AND list_contains(flags, 'preflush'))
), seen AS (
    SELECT * FROM asked
    WHERE op = 'flush' OR dev NOT IN (SELECT dev FROM asked WHERE op = 'flush')
), in_order AS (
    SELECT
        s.ts_ns AS t_ns, s.end_ns, CAST(NULL AS BIGINT) AS dev,
        CAST(NULL AS BIGINT) AS begin_ns, CAST(NULL AS BIGINT) AS complete_ns,
        CAST(NULL AS BIGINT) AS tgid, CAST(NULL AS BIGINT) AS tid,
        CAST(NULL AS BIGINT) AS owner_dev, CAST(NULL AS BIGINT) AS owner_ino,
        CAST(NULL AS BOOLEAN) AS in_scope, CAST(NULL AS BOOLEAN) AS counted
    FROM main.sync_calls s
    UNION ALL
    SELECT ts_ns, ts_ns + dur_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM main.waits
    WHERE reason IN ('device_flush', 'journal_commit', 'log_force')
    UNION ALL
    SELECT queue_ns, NULL, dev, sent_ns, complete_ns, tgid, tid, owner_dev, owner_ino, in_scope, counted
    FROM seen
), since AS (
    -- At each moment, until when the command waits for a flush. RANGE: calls of the same moment count.
    SELECT *, max(end_ns) OVER (ORDER BY t_ns RANGE UNBOUNDED PRECEDING) AS waits_until_ns
    FROM in_order
)
SELECT
    dev,
    t_ns AS queue_ns,
    begin_ns,
    complete_ns,
    tgid,
    tid,
    owner_dev,
    owner_ino,
    counted,
    coalesce(in_scope, dev IN (SELECT dev FROM written_devices) AND waits_until_ns >= t_ns, false)
        AS of_command
FROM since
WHERE dev IS NOT NULL
-- else
WITH asked AS (
    SELECT dev, queue_ns, sent_ns, complete_ns, tgid, tid, owner_dev, owner_ino, in_scope, counted, op
    FROM main.counted_requests
    WHERE op = 'flush' OR (op = 'write' AND bytes = 0 AND list_contains(flags, 'preflush'))
)
SELECT
    dev,
    queue_ns,
    sent_ns AS begin_ns,
    complete_ns,
    tgid,
    tid,
    owner_dev,
    owner_ino,
    counted,
    coalesce(in_scope, true) AS of_command
FROM asked
WHERE op = 'flush' OR dev NOT IN (SELECT dev FROM asked WHERE op = 'flush')
