-- title: The sums of the system calls, or operations of io_uring and libaio, of one name by one thread on one file
-- uses: _async_rows, call_kinds, call_sums
-- What file_operations has one by one. Of a thread, name and file there may be several rows: they add up.
-- column tgid: process, id
-- column tid: thread that made or submitted them, id
-- column name: system call; io_uring or libaio and the operation, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column tiny: moved at most 1 KiB: there the call costs more than the copy, bool
-- column durable: they write, and are done only once that is durable, bool
-- column calls: calls and operations, count
-- column errors: of these, those that failed, count
-- column unfinished: of these, those whose end was not seen, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column cpu_of_ns: durations of those of which it is known how long they were on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of total_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of total_ns, in interruptible sleep, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column done_bytes: bytes that they returned, bytes
-- column moving: those that returned more than 0, count
-- column synced_bytes: bytes asked for by those that returned 0, bytes
-- column syncing: of these, those that asked for bytes, count
SELECT
    tgid, tid, name, dev, ino, tiny, durable, calls, errors, unfinished, total_ns, max_ns, cpu_ns, cpu_of_ns,
    runnable_ns, blocked_ns, sleeping_ns, asked_bytes, done_bytes, moving, synced_bytes, syncing
FROM call_sums
UNION ALL
SELECT
    a.tgid,
    a.tid,
    a.name,
    a.dev,
    a.ino,
    coalesce(a.bytes <= 1024 AND a.ret > 0, false),
    k.kind = 'write' AND coalesce(a.durable, false),
    count(*),
    sum(CASE WHEN a.ret < 0 THEN 1 ELSE 0 END),
    count(*) - count(a.dur_ns),
    sum(a.dur_ns),
    max(a.dur_ns),
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    sum(a.bytes),
    sum(CASE WHEN k.moves_data AND a.ret > 0 THEN a.ret END),
    count(CASE WHEN k.moves_data AND a.ret > 0 THEN 1 END),
    sum(CASE WHEN a.ret = 0 THEN a.bytes END),
    count(CASE WHEN a.ret = 0 THEN a.bytes END)
FROM _async_rows a
JOIN call_kinds k ON k.name = a.name
GROUP BY 1, 2, 3, 4, 5, 6, 7
