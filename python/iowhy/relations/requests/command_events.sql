-- title: A call, an operation of io_uring or libaio, a wait or a request of the command, as one thread's or the machine's next event
-- uses: async_operations, counted_requests, syscalls, waits
-- column ts_ns: begin; of a request, when it was queued, ns
-- column tgid: process, id
-- column tid: thread; of a request, the one that submitted it, id
-- column event: call, operation, wait or request, text
-- column nested: what is in what, of the same moment: 0 a call, 1 a wait or an operation, 2 a request, number
-- column name: the call; io_uring or libaio and the operation; the reason of the wait; the operation of the request, text
-- column dur_ns: length; of a request, from queue to completion, ns
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column disk: device of a request, id
-- column offset: byte offset in the file; of a request, on the device, bytes
-- column bytes: bytes asked for, bytes
-- column ret: result of the call; error of the request, number
-- column cpu_ns: of dur_ns, on a CPU, ns
-- column runnable_ns: of dur_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of dur_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of dur_ns, in interruptible sleep, ns
-- column fd: file descriptor, number
SELECT
    ts_ns, tgid, tid, 'call' AS event, 0 AS nested, name,
    dur_ns, dev, ino, CAST(NULL AS BIGINT) AS disk, "offset", bytes, ret,
    cpu_ns, runnable_ns, blocked_ns, sleeping_ns, fd
FROM syscalls
UNION ALL
SELECT
    submit_ns, tgid, tid, 'operation', 1, api || ' ' || op,
    complete_ns - submit_ns, dev, ino, NULL, "offset", bytes, ret,
    NULL, NULL, NULL, NULL, NULL
FROM async_operations
UNION ALL
SELECT
    ts_ns, tgid, tid, 'wait', 1, reason,
    dur_ns, dev, ino, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL
FROM waits
UNION ALL
SELECT
    queue_ns, tgid, tid, 'request', 2, op,
    complete_ns - queue_ns, owner_dev, owner_ino, dev, sector * 512, bytes, error,
    NULL, NULL, NULL, NULL, NULL
FROM counted_requests
WHERE whose <> 'others'
