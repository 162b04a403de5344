-- title: A call that returns once data is durable: fsync and the like, and O_SYNC writes
-- uses: call_kinds, durable_writes, syscalls
-- column tid: thread, id
-- column ts_ns: when it began, ns
-- column end_ns: when it returned, ns
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
    s.ret
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'sync'
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
    ret
FROM durable_writes
