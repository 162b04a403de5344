-- title: A call, or operation of io_uring or libaio, that wrote, and was done once that was durable (O_SYNC, O_DSYNC)
-- uses: _inferred_durable_writes, call_kinds, file_operations, recording
-- Flags say so: of the open file, of the call, of the inode or of the mount; where the recording does not have them, what the call waited
-- for (_inferred_durable_writes).
-- column tid: thread, id
-- column ts_ns: when the call began, ns
-- column dur_ns: its duration, ns
-- column cpu_ns: of dur_ns, on a CPU, ns
-- column runnable_ns: of dur_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of dur_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of dur_ns, in interruptible sleep, ns
-- column name: call, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column bytes: bytes that it asked for, bytes
-- column ret: what it returned, number
-- column asynchronous: it is an operation of io_uring or libaio, in which no thread waits, bool
SELECT
    s.tid, s.ts_ns, s.dur_ns, s.cpu_ns, s.runnable_ns, s.blocked_ns, s.sleeping_ns, s.name, s.dev, s.ino, s.bytes, s.ret,
    s.asynchronous
FROM file_operations s
JOIN call_kinds k ON k.name = s.name
CROSS JOIN recording r
WHERE r.tells_durable AND k.kind IN ('write', 'copy') AND s.durable
UNION ALL
SELECT tid, ts_ns, dur_ns, cpu_ns, runnable_ns, blocked_ns, sleeping_ns, name, dev, ino, bytes, ret, asynchronous
FROM _inferred_durable_writes
