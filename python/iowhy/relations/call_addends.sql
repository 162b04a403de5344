-- title: What sums of system calls are made of: sums by thread, name and file, or single calls
-- What sums calls up in another way reads these. Where the recorder summed nothing up and calls are few they are not
-- grouped first: of many files there are nearly as many groups as calls.
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column tiny: moved at most 1 KiB: there the call costs more than the copy, bool
-- column file_kind: kind of the file; file where it is not known, text
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
-- when not call_sums and few syscalls
SELECT
    c.tgid,
    c.tid,
    c.name,
    c.dev,
    c.ino,
    coalesce(c.bytes <= 1024 AND c.ret > 0, false) AS tiny,
    c.file_kind,
    1 AS calls,
    CASE WHEN c.ret < 0 THEN 1 ELSE 0 END AS errors,
    CASE WHEN c.ret IS NULL THEN 1 ELSE 0 END AS unfinished,
    c.dur_ns AS total_ns,
    c.dur_ns AS max_ns,
    c.cpu_ns,
    CASE WHEN c.cpu_ns IS NOT NULL THEN c.dur_ns END AS cpu_of_ns,
    c.runnable_ns,
    c.blocked_ns,
    c.sleeping_ns,
    c.bytes AS asked_bytes,
    CASE WHEN c.ret > 0 THEN c.ret END AS done_bytes,
    CASE WHEN c.ret > 0 THEN 1 ELSE 0 END AS moving,
    CASE WHEN c.ret = 0 THEN c.bytes END AS synced_bytes,
    CASE WHEN c.ret = 0 AND c.bytes IS NOT NULL THEN 1 ELSE 0 END AS syncing
FROM single_calls c
-- else
SELECT
    tgid, tid, name, dev, ino, tiny, file_kind, calls, errors, unfinished, total_ns, max_ns, cpu_ns, cpu_of_ns,
    runnable_ns, blocked_ns, sleeping_ns, asked_bytes, done_bytes, moving, synced_bytes, syncing
FROM grouped_calls
