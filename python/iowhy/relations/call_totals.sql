-- title: The system calls of one name on one file, small ones apart
-- kept: table
-- column name: system call, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column tiny: moved at most 1 KiB: there the call costs more than the copy, bool
-- column file_kind: kind of the file; file where it is not known, text
-- column calls: calls, count
-- column errors: of these, those that failed, count
-- column total_ns: their durations, ns
-- column cpu_ns: of these, on a CPU, ns
-- column runnable_ns: of these, ready and waiting for a CPU, ns
-- column blocked_ns: of these, in uninterruptible sleep, ns
-- column sleeping_ns: of these, in interruptible sleep, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column done_bytes: bytes that they returned, bytes
SELECT c.*, coalesce(f.kind, 'file') AS file_kind
FROM (
    SELECT
        name,
        dev,
        ino,
        coalesce(bytes <= 1024 AND ret > 0, false) AS tiny,
        count(*) AS calls,
        sum(CASE WHEN ret < 0 THEN 1 ELSE 0 END) AS errors,
        sum(dur_ns) AS total_ns,
        sum(cpu_ns) AS cpu_ns,
        sum(runnable_ns) AS runnable_ns,
        sum(blocked_ns) AS blocked_ns,
        sum(sleeping_ns) AS sleeping_ns,
        sum(bytes) AS asked_bytes,
        sum(CASE WHEN ret > 0 THEN ret END) AS done_bytes
    FROM syscalls
    GROUP BY name, dev, ino, coalesce(bytes <= 1024 AND ret > 0, false)
) AS c
LEFT JOIN named_files f ON f.dev = c.dev AND f.ino = c.ino
