-- title: A read or write of data in scope, and whether it jumps among all of them on its device, in the order in which they were queued
-- uses: block_requests
-- filtered as: block_requests
-- Those too that are seen again on a device below.
-- column dev: block device, id
-- column op: read or write, text
-- column bytes: length, bytes
-- column queue_ns: when it was queued, ns
-- column complete_ns: when the device was done; NULL: not seen, ns
-- column tgid: process that submitted it, id
-- column tid: thread that submitted it, id
-- column owner_dev: filesystem of the file that it is of, id
-- column owner_ino: inode of that file, id
-- column owner_page: its first page in the file; NULL for direct I/O, number
-- column jump_bytes: from the end of the one before it to its begin; 0 is in order, bytes
SELECT
    dev, op, bytes, queue_ns, complete_ns, tgid, tid, owner_dev, owner_ino, owner_page,
    sector * 512 - lag(sector * 512 + bytes) OVER (PARTITION BY dev, op ORDER BY queue_ns, sector)
        AS jump_bytes
FROM block_requests
WHERE in_scope AND op IN ('read', 'write') AND bytes > 0
