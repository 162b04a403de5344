-- title: System calls by thread
-- question: Which thread made which calls, and what did they cost it?
-- stands in for: curt's per-thread part, strace -c of each thread
-- about: comm tid name calls total_ns share mean_ns
-- column comm: name of the thread, text
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call; io_uring or libaio and the operation, text
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column share: of the durations of all calls, share
-- column mean_ns: mean duration, ns
-- column max_ns: longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
-- column runnable_ns: of the durations, ready and waiting for a CPU, ns
-- column blocked_ns: of the durations, in uninterruptible sleep, ns
-- column sleeping_ns: of the durations, in interruptible sleep, ns
-- column bytes: bytes moved by reads, writes and copies; bytes asked of msync, bytes
SELECT
    n.comm,
    c.tgid,
    c.tid,
    c.name,
    c.calls,
    c.errors,
    c.total_ns,
    c.total_ns / nullif(sum(c.total_ns) OVER (), 0) AS share,
    c.total_ns / nullif(c.calls, 0) AS mean_ns,
    c.max_ns,
    c.cpu_ns,
    c.runnable_ns,
    c.blocked_ns,
    c.sleeping_ns,
    c.bytes
FROM thread_calls c
LEFT JOIN named_threads n ON n.tgid = c.tgid AND n.tid = c.tid
ORDER BY c.total_ns DESC, c.tgid, c.tid, c.name
