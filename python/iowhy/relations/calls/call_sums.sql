-- title: The sums of the system calls of one name by one thread on one file, small ones and durable ones apart
-- uses: syscalls
-- kept: table
SELECT
    tgid,
    tid,
    name,
    dev,
    ino,
    coalesce(bytes <= 1024 AND ret > 0, false) AS tiny,
    durable,
    count(*) AS calls,
    sum(CASE WHEN ret < 0 THEN 1 ELSE 0 END) AS errors,
    count(*) - count(ret) AS unfinished,
    sum(dur_ns) AS total_ns,
    max(dur_ns) AS max_ns,
    sum(cpu_ns) AS cpu_ns,
    sum(CASE WHEN cpu_ns IS NOT NULL THEN dur_ns END) AS cpu_of_ns,
    sum(runnable_ns) AS runnable_ns,
    sum(blocked_ns) AS blocked_ns,
    sum(sleeping_ns) AS sleeping_ns,
    sum(bytes) AS asked_bytes,
    sum(CASE WHEN ret > 0 THEN ret END) AS done_bytes,
    count(CASE WHEN ret > 0 THEN 1 END) AS moving,
    sum(CASE WHEN ret = 0 THEN bytes END) AS synced_bytes,
    count(CASE WHEN ret = 0 THEN bytes END) AS syncing
FROM syscalls
GROUP BY tgid, tid, name, dev, ino, coalesce(bytes <= 1024 AND ret > 0, false), durable
