-- title: What was asked of files: a system call, or an operation of io_uring or libaio
-- uses: _async_rows, syscalls
-- Whoever asks what a program did to its files one by one reads this, not syscalls: both are durable, jump, take long and fail alike.
-- column ts_ns: entry, or submission, ns
-- column dur_ns: to the exit or the result; NULL where the end of an operation was not seen, ns
-- column cpu_ns: of dur_ns, on a CPU; NULL of an operation, ns
-- column runnable_ns: of dur_ns, ready and waiting for a CPU; NULL of an operation, ns
-- column blocked_ns: of dur_ns, in uninterruptible sleep; NULL of an operation, ns
-- column sleeping_ns: of dur_ns, in interruptible sleep; NULL of an operation, ns
-- column tgid: process, id
-- column tid: thread that made or submitted it, id
-- column name: system call; io_uring or libaio and the operation, text
-- column fd: file descriptor; NULL of an operation, number
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column offset: byte offset in the file, bytes
-- column bytes: bytes asked for, bytes
-- column ring: number of the io_uring or of the libaio context, number
-- column durable: of one that writes: whether it is done only once that is durable, bool
-- column ret: result, or bytes that were moved; negative errno on error; NULL where it was not seen, number
-- column asynchronous: it is an operation of io_uring or libaio, in which no thread waits, bool
SELECT
    ts_ns, dur_ns, cpu_ns, runnable_ns, blocked_ns, sleeping_ns, tgid, tid, name, fd, dev, ino, "offset", bytes, ring, durable, ret,
    false AS asynchronous
FROM syscalls
UNION ALL
SELECT
    ts_ns, dur_ns, cpu_ns, runnable_ns, blocked_ns, sleeping_ns, tgid, tid, name, fd, dev, ino, "offset", bytes, ring, durable, ret,
    true
FROM _async_rows
