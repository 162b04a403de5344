-- title: Uninterruptible waits
-- question: What did threads wait for inside the kernel, and in which call?
-- stands in for: latencytop, off-CPU analysis
-- about: reason syscall waits total_ns share mean_ns p99_ns
-- column reason: class of the wait, from its kernel stack, text
-- column syscall: call that the thread was in; NULL outside any, text
-- column waits: number of waits, count
-- column threads: threads that waited, count
-- column total_ns: their durations, ns
-- column share: of all uninterruptible waits, share
-- column mean_ns: mean duration, ns
-- column p50_ns: median duration, ns
-- column p99_ns: 99th percentile of the duration, ns
-- column max_ns: longest, ns
-- column io_share: of the time, what the kernel itself counts as I/O wait, share
WITH summed AS (
    SELECT
        reason,
        syscall,
        count(*) AS waits,
        count(DISTINCT tid) AS threads,
        sum(dur_ns) AS total_ns,
        max(dur_ns) AS max_ns,
        sum(CASE WHEN io THEN dur_ns ELSE 0 END) AS io_ns
    FROM waits
    GROUP BY reason, syscall
)
SELECT
    s.reason,
    s.syscall,
    s.waits,
    s.threads,
    s.total_ns,
    s.total_ns / nullif(sum(s.total_ns) OVER (), 0) AS share,
    s.total_ns / s.waits AS mean_ns,
    l.p50_ns,
    l.p99_ns,
    s.max_ns,
    s.io_ns / nullif(s.total_ns, 0) AS io_share
FROM summed s
LEFT JOIN wait_percentiles l ON l.reason = s.reason AND l.syscall IS NOT DISTINCT FROM s.syscall
ORDER BY s.total_ns DESC, s.reason, s.syscall
