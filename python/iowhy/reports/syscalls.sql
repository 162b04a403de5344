-- title: System calls
-- question: Which calls were made, how long did they take, and how much of that was CPU?
-- stands in for: curt, strace -c, truss -c
-- about: name calls total_ns share mean_ns p99_ns errors
-- column name: system call; io_uring or libaio and the operation, text
-- column calls: calls that began, count
-- column errors: of these, returned an error, count
-- column total_ns: their durations, ns
-- column share: of the durations of all calls, share
-- column mean_ns: mean duration, ns
-- column p50_ns: median duration; NULL where only totals were kept, ns
-- column p99_ns: 99th percentile of the duration; NULL where only totals were kept, ns
-- column max_ns: longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
-- column cpu_share: cpu_ns over total_ns, share
-- column runnable_ns: of the durations, ready and waiting for a CPU, ns
-- column blocked_ns: of the durations, in uninterruptible sleep (devices, locks), ns
-- column sleeping_ns: of the durations, in interruptible sleep (timers, pipes, children), ns
-- column bytes: bytes moved by reads, writes and copies; bytes asked of msync, bytes
-- column mean_bytes: bytes per call that moved or asked for some, bytes
-- column unfinished: calls that had not returned when the recording ended, count
-- I/O calls are kept one by one. All other calls come from the totals per thread and interval, so
-- that a call counted there and kept here is not counted twice.
WITH every_call AS (
    SELECT
        name,
        sum(calls) AS calls,
        sum(errors) AS errors,
        sum(total_ns) AS total_ns,
        max(max_ns) AS max_ns,
        sum(cpu_ns) AS cpu_ns,
        sum(cpu_of_ns) AS cpu_of_ns,
        sum(runnable_ns) AS runnable_ns,
        sum(blocked_ns) AS blocked_ns,
        sum(sleeping_ns) AS sleeping_ns,
        sum(bytes) AS bytes,
        sum(moving) AS moving,
        sum(unfinished) AS unfinished
    FROM thread_calls
    GROUP BY name
)
SELECT
    c.name,
    c.calls,
    c.errors,
    c.total_ns,
    c.total_ns / nullif(sum(c.total_ns) OVER (), 0) AS share,
    c.total_ns / nullif(c.calls, 0) AS mean_ns,
    l.p50_ns,
    l.p99_ns,
    c.max_ns,
    c.cpu_ns,
    c.cpu_ns / nullif(c.cpu_of_ns, 0) AS cpu_share,
    c.runnable_ns,
    c.blocked_ns,
    c.sleeping_ns,
    c.bytes,
    c.bytes / nullif(c.moving, 0) AS mean_bytes,
    c.unfinished
FROM every_call c
LEFT JOIN call_percentiles l ON l.name = c.name
ORDER BY c.total_ns DESC, c.name
