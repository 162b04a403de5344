-- title: A call, or operation of io_uring or libaio, that is done once data is durable: fsync and the like, and O_SYNC writes
-- uses: call_kinds, durable_writes, file_operations
-- sync_file_range writes pages back, and leaves them in the device's cache: it is none.
-- column tid: thread that made or submitted it, id
-- column ts_ns: when it began, ns
-- column end_ns: when it returned; NULL where the end of an operation was not seen, ns
-- column dur_ns: its duration, ns
-- column cpu_ns: of it, on a CPU, ns
-- column runnable_ns: of it, ready and waiting for a CPU, ns
-- column blocked_ns: of it, in uninterruptible sleep, ns
-- column sleeping_ns: of it, in interruptible sleep, ns
-- column name: call; with ` (O_SYNC)` behind it for a write, text
-- column by_write: it is a write (see durable_writes), bool
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column bytes: bytes that it was asked to write, bytes
-- column ret: what it returned, number
-- column asynchronous: it is an operation of io_uring or libaio, in which no thread waits, bool
SELECT
    s.tid,
    s.ts_ns,
    s.ts_ns + s.dur_ns AS end_ns,
    s.dur_ns,
    s.cpu_ns,
    s.runnable_ns,
    s.blocked_ns,
    s.sleeping_ns,
    s.name,
    false AS by_write,
    s.dev,
    s.ino,
    s.bytes,
    s.ret,
    s.asynchronous
FROM file_operations s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'sync' AND NOT contains(s.name, 'sync_file_range')
UNION ALL
SELECT
    tid,
    ts_ns,
    ts_ns + dur_ns,
    dur_ns,
    cpu_ns,
    runnable_ns,
    blocked_ns,
    sleeping_ns,
    name || ' (O_SYNC)',
    true,
    dev,
    ino,
    bytes,
    ret,
    asynchronous
FROM durable_writes
