-- title: A read or write of data by the command, once
-- uses: counted_requests
-- filtered as: block_requests
-- Of the command is what it submitted itself, and what was written back or read by a kernel thread
-- for a file that it touched; what cannot be charged to one process (a journal, metadata) is not.
-- Requests without data ask for a flush and are in flushes. Which of them jump is in command_requests.
-- column dev: block device, id
-- column op: read or write, text
-- column bytes: length, bytes
-- column sector: where it begins; NULL where the source does not say, number
-- column queue_ns: when it was queued, ns
-- column sent_ns: when it was handed to the driver, else queued, ns
-- column complete_ns: when the device was done; NULL: not seen, ns
-- column error: errno; 0 when it succeeded, number
-- column tgid: process that submitted it, id
-- column tid: thread that submitted it, id
-- column owner_dev: filesystem of the file that it is of, id
-- column owner_ino: inode of that file, id
-- column owner_page: its first page in the file; NULL for direct I/O, number
-- column owner_kind: data, journal, metadata, swap, device or unknown, text
SELECT
    dev,
    op,
    bytes,
    sector,
    queue_ns,
    sent_ns,
    complete_ns,
    error,
    tgid,
    tid,
    owner_dev,
    owner_ino,
    owner_page,
    owner_kind
FROM counted_requests
WHERE in_scope AND counted AND op IN ('read', 'write') AND bytes > 0
