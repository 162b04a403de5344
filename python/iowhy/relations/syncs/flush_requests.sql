-- title: A flush of a device's write cache, anybody's, counted once
-- uses: block_requests, counted_requests
-- filtered as: nothing
-- Who asks for a flush sends a write without data, which the block layer turns into a flush of its
-- own: that counts. Where a source shows no flushes of a device, the writes without data do.
-- column dev: block device, id
-- column queue_ns: when it was queued, ns
-- column begin_ns: when it was handed to the driver, else queued, ns
-- column complete_ns: when the device was done; NULL: not seen, ns
-- column tgid: process that submitted it, id
-- column tid: thread that submitted it, id
-- column owner_dev: filesystem of the file that it is of, id
-- column owner_ino: inode of that file, id
-- column in_scope: the command's; NULL: a kernel thread's, bool
-- column counted: false for what is seen again on a device below, bool
SELECT
    dev, queue_ns, sent_ns AS begin_ns, complete_ns, tgid, tid, owner_dev, owner_ino, in_scope, counted
FROM counted_requests
WHERE op = 'flush'
UNION ALL
SELECT
    dev, queue_ns, sent_ns, complete_ns, tgid, tid, owner_dev, owner_ino, in_scope, counted
FROM counted_requests
WHERE op = 'write' AND bytes = 0 AND list_contains(flags, 'preflush')
    AND dev NOT IN (SELECT DISTINCT dev FROM block_requests WHERE op = 'flush')
