-- title: The sums of the system calls, or operations of io_uring and libaio, of one thread, of one name, on files of one kind on one filesystem
-- uses: calls_by_file
-- kept: table
-- What asks for no single file reads these: there are few, however many calls and files.
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call, text
-- column dev: filesystem of the file, id
-- column tiny: moved at most 1 KiB: there the call costs more than the copy, bool
-- column file_kind: kind of the file; file if not known, text
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
SELECT
    tgid,
    tid,
    name,
    dev,
    tiny,
    file_kind,
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
FROM calls_by_file
GROUP BY tgid, tid, name, dev, tiny, file_kind
