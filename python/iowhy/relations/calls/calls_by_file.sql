-- title: The sums of the system calls, or operations of io_uring and libaio, of one name by one thread on one file, with the kind of that file
-- uses: named_files, operation_sums
-- Of a thread, name and file there may be several rows (operation_sums): they add up.
-- kept: table
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column tiny: moved at most 1 KiB: there the call costs more than the copy, bool
-- column file_kind: kind of the file; file if not known, text
-- column calls: calls, count
-- column errors: of these, those that failed, count
-- column unfinished: of these, those that had not returned when the recording ended, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column cpu_of_ns: durations of those calls of which it is known how long they were on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of total_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of total_ns, in interruptible sleep, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column done_bytes: bytes that they returned, bytes
-- column moving: calls that returned more than 0, count
-- column synced_bytes: bytes asked for by calls that returned 0, bytes
-- column syncing: of these calls, those that asked for bytes, count
SELECT
    c.tgid,
    c.tid,
    c.name,
    c.dev,
    c.ino,
    c.tiny,
    coalesce(f.kind, 'file') AS file_kind,
    c.calls,
    c.errors,
    c.unfinished,
    c.total_ns,
    c.max_ns,
    c.cpu_ns,
    c.cpu_of_ns,
    c.runnable_ns,
    c.blocked_ns,
    c.sleeping_ns,
    c.asked_bytes,
    c.done_bytes,
    c.moving,
    c.synced_bytes,
    c.syncing
FROM operation_sums c
-- Nearly all files of many are plain ones: to look for the others alone takes less.
LEFT JOIN (SELECT dev, ino, kind FROM named_files WHERE kind <> 'file') f ON f.dev = c.dev AND f.ino = c.ino
