-- title: Sums of the sync calls of one name on one file
-- uses: _inferred_durable_writes, call_kinds, operation_sums, recording
-- Of a name and file there may be several rows: they add up. sync_calls says what a sync call is.
-- column name: call, as sync_calls has it, text
-- column by_write: they are writes (see durable_writes), bool
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column calls: calls, count
-- column errors: of these, those that failed, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of total_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of total_ns, in interruptible sleep, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column done_bytes: bytes that they returned, bytes
SELECT
    CASE WHEN k.kind = 'sync' THEN s.name ELSE s.name || ' (O_SYNC)' END AS name,
    k.kind <> 'sync' AS by_write,
    s.dev,
    s.ino,
    s.calls,
    s.errors,
    s.total_ns,
    s.max_ns,
    s.cpu_ns,
    s.runnable_ns,
    s.blocked_ns,
    s.sleeping_ns,
    s.asked_bytes,
    s.done_bytes
FROM operation_sums s
JOIN call_kinds k ON k.name = s.name
CROSS JOIN recording r
WHERE (k.kind = 'sync' AND NOT contains(s.name, 'sync_file_range')) OR (r.tells_durable AND s.durable)
UNION ALL
SELECT
    name || ' (O_SYNC)',
    true,
    dev,
    ino,
    1,
    CASE WHEN ret < 0 THEN 1 ELSE 0 END,
    dur_ns,
    dur_ns,
    cpu_ns,
    runnable_ns,
    blocked_ns,
    sleeping_ns,
    bytes,
    CASE WHEN ret > 0 THEN ret END
FROM _inferred_durable_writes
