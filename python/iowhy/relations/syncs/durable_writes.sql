-- title: A call that wrote, and returned once that was durable (O_SYNC, O_DSYNC)
-- uses: _inferred_durable_writes, call_kinds, recording, syscalls
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
SELECT
    s.tid, s.ts_ns, s.dur_ns, s.cpu_ns, s.runnable_ns, s.blocked_ns, s.sleeping_ns, s.name, s.dev, s.ino, s.bytes, s.ret
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
CROSS JOIN recording r
WHERE r.tells_durable AND k.kind IN ('write', 'copy') AND s.durable
UNION ALL
SELECT tid, ts_ns, dur_ns, cpu_ns, runnable_ns, blocked_ns, sleeping_ns, name, dev, ino, bytes, ret
FROM _inferred_durable_writes
