-- title: The sums of the sync calls of one name on one file
-- As the recorder summed them up; else by the rows. What a sync call is stands in sync_calls.
-- column name: call, as sync_calls has it, text
-- column by_write: they are writes (see durable_writes), bool
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column calls: calls, count
-- column errors: of these, those that failed, count
-- column total_ns: their durations, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of total_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of total_ns, in interruptible sleep, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column done_bytes: bytes that they returned, bytes
-- when call_sums and sync_sums
SELECT
    CASE WHEN k.kind = 'sync' THEN s.name ELSE s.name || ' (O_SYNC)' END AS name,
    k.kind <> 'sync' AS by_write,
    s.dev,
    s.ino,
    sum(s.calls) AS calls,
    sum(s.errors) AS errors,
    sum(s.total_ns) AS total_ns,
    sum(s.cpu_ns) AS cpu_ns,
    sum(s.runnable_ns) AS runnable_ns,
    sum(s.blocked_ns) AS blocked_ns,
    sum(s.sleeping_ns) AS sleeping_ns,
    sum(s.asked_bytes) AS asked_bytes,
    sum(s.done_bytes) AS done_bytes
FROM call_sums s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'sync' OR s.durable
GROUP BY s.name, k.kind, s.dev, s.ino
-- else
SELECT
    s.name,
    false AS by_write,
    s.dev,
    s.ino,
    sum(s.calls) AS calls,
    sum(s.errors) AS errors,
    sum(s.total_ns) AS total_ns,
    sum(s.cpu_ns) AS cpu_ns,
    sum(s.runnable_ns) AS runnable_ns,
    sum(s.blocked_ns) AS blocked_ns,
    sum(s.sleeping_ns) AS sleeping_ns,
    sum(s.asked_bytes) AS asked_bytes,
    sum(s.done_bytes) AS done_bytes
FROM call_totals s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'sync'
GROUP BY s.name, s.dev, s.ino
UNION ALL
SELECT
    name,
    true,
    dev,
    ino,
    count(*),
    sum(CASE WHEN ret < 0 THEN 1 ELSE 0 END),
    sum(dur_ns),
    sum(cpu_ns),
    sum(runnable_ns),
    sum(blocked_ns),
    sum(sleeping_ns),
    sum(bytes),
    sum(CASE WHEN ret > 0 THEN ret END)
FROM sync_calls
WHERE by_write
GROUP BY name, dev, ino
