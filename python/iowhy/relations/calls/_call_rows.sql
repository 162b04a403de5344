-- title: A system call as a sum of one
-- uses: syscalls
-- It replaces call_sums where calls are few: of many files there are nearly as many groups as calls, and a group costs more than a
-- row. The columns are those of call_sums.
-- column calls: 1, count
SELECT
    tgid,
    tid,
    name,
    dev,
    ino,
    coalesce(bytes <= 1024 AND ret > 0, false) AS tiny,
    durable,
    1 AS calls,
    CASE WHEN ret < 0 THEN 1 ELSE 0 END AS errors,
    CASE WHEN ret IS NULL THEN 1 ELSE 0 END AS unfinished,
    dur_ns AS total_ns,
    dur_ns AS max_ns,
    cpu_ns,
    CASE WHEN cpu_ns IS NOT NULL THEN dur_ns END AS cpu_of_ns,
    runnable_ns,
    blocked_ns,
    sleeping_ns,
    bytes AS asked_bytes,
    CASE WHEN ret > 0 THEN ret END AS done_bytes,
    CASE WHEN ret > 0 THEN 1 ELSE 0 END AS moving,
    CASE WHEN ret = 0 THEN bytes END AS synced_bytes,
    CASE WHEN ret = 0 AND bytes IS NOT NULL THEN 1 ELSE 0 END AS syncing
FROM syscalls
