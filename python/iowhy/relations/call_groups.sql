-- title: The sums of the system calls of one name by one thread on one file, small ones apart
-- As the recorder summed them up; else one pass over all calls.
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column tiny: moved at most 1 KiB: there the call costs more than the copy, bool
-- column calls: calls, count
-- column errors: of these, those that failed, count
-- column unfinished: of these, those that had not returned when the recording ended, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column cpu_of_ns: durations of those calls of which it is known how long they were on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of total_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of total_ns, in interruptible sleep, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column done_bytes: bytes that they returned, bytes
-- column moving: calls that returned more than 0, count
-- column synced_bytes: bytes asked for by calls that returned 0, bytes
-- column syncing: of these calls, those that asked for bytes, count
-- when call_sums
SELECT
    tgid,
    tid,
    name,
    dev,
    ino,
    tiny,
    sum(calls) AS calls,
    sum(errors) AS errors,
    sum(unfinished) AS unfinished,
    sum(total_ns) AS total_ns,
    max(max_ns) AS max_ns,
    sum(cpu_ns) AS cpu_ns,
    sum(cpu_of_ns) AS cpu_of_ns,
    sum(runnable_ns) AS runnable_ns,
    sum(blocked_ns) AS blocked_ns,
    sum(sleeping_ns) AS sleeping_ns,
    sum(asked_bytes) AS asked_bytes,
    sum(done_bytes) AS done_bytes,
    sum(moving) AS moving,
    sum(synced_bytes) AS synced_bytes,
    sum(syncing) AS syncing
FROM call_sums
GROUP BY tgid, tid, name, dev, ino, tiny
-- else
SELECT
    tgid,
    tid,
    name,
    dev,
    ino,
    coalesce(bytes <= 1024 AND ret > 0, false) AS tiny,
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
GROUP BY tgid, tid, name, dev, ino, coalesce(bytes <= 1024 AND ret > 0, false)
