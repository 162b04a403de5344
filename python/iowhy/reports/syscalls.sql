-- title: System calls
-- question: Which calls were made, how long did they take, and how much of that was CPU?
-- stands in for: curt, strace -c, truss -c
-- column name: system call, text
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
WITH kept AS (
    SELECT
        s.name,
        count(*) AS calls,
        count(*) FILTER (WHERE s.ret < 0) AS errors,
        sum(s.dur_ns) AS total_ns,
        quantile_cont(s.dur_ns, 0.5) AS p50_ns,
        quantile_cont(s.dur_ns, 0.99) AS p99_ns,
        max(s.dur_ns) AS max_ns,
        sum(s.cpu_ns) AS cpu_ns,
        sum(CASE WHEN s.cpu_ns IS NOT NULL THEN s.dur_ns END) AS cpu_of_ns,
        sum(s.runnable_ns) AS runnable_ns,
        sum(s.blocked_ns) AS blocked_ns,
        sum(s.sleeping_ns) AS sleeping_ns,
        sum(CASE
            WHEN k.kind IN ('read', 'write', 'copy') AND s.ret > 0 THEN s.ret
            WHEN s.name = 'msync' AND s.ret = 0 THEN s.bytes
        END) AS bytes,
        count(CASE
            WHEN k.kind IN ('read', 'write', 'copy') AND s.ret > 0 THEN s.ret
            WHEN s.name = 'msync' AND s.ret = 0 THEN s.bytes
        END) AS moving,
        count(*) FILTER (WHERE s.ret IS NULL) AS unfinished
    FROM syscalls s
    LEFT JOIN call_kinds k ON k.name = s.name
    GROUP BY s.name
), totalled AS (
    SELECT
        name,
        sum(calls) AS calls,
        sum(errors) AS errors,
        sum(total_ns) AS total_ns,
        max(max_ns) AS max_ns,
        sum(cpu_ns) AS cpu_ns,
        sum(CASE WHEN cpu_ns IS NOT NULL THEN total_ns END) AS cpu_of_ns
    FROM syscall_totals
    WHERE name NOT IN (SELECT name FROM kept)
    GROUP BY name
), every_call AS (
    SELECT
        name, calls, errors, total_ns, p50_ns, p99_ns, max_ns, cpu_ns, cpu_of_ns,
        runnable_ns, blocked_ns, sleeping_ns, bytes, moving, unfinished
    FROM kept
    UNION ALL
    SELECT
        name, calls, errors, total_ns, NULL, NULL, max_ns, cpu_ns, cpu_of_ns,
        NULL, NULL, NULL, NULL, NULL, NULL
    FROM totalled
)
SELECT
    name,
    calls,
    errors,
    total_ns,
    total_ns / nullif(sum(total_ns) OVER (), 0) AS share,
    total_ns / nullif(calls, 0) AS mean_ns,
    p50_ns,
    p99_ns,
    max_ns,
    cpu_ns,
    cpu_ns / nullif(cpu_of_ns, 0) AS cpu_share,
    runnable_ns,
    blocked_ns,
    sleeping_ns,
    bytes,
    bytes / nullif(moving, 0) AS mean_bytes,
    unfinished
FROM every_call
ORDER BY total_ns DESC, name
