-- title: Uninterruptible waits
-- question: What did threads wait for inside the kernel, and in which call?
-- stands in for: latencytop, off-CPU analysis
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
SELECT
    reason,
    syscall,
    count(*) AS waits,
    count(DISTINCT tid) AS threads,
    sum(dur_ns) AS total_ns,
    sum(dur_ns) / nullif(sum(sum(dur_ns)) OVER (), 0) AS share,
    sum(dur_ns) / count(*) AS mean_ns,
    quantile_cont(dur_ns, 0.5) AS p50_ns,
    quantile_cont(dur_ns, 0.99) AS p99_ns,
    max(dur_ns) AS max_ns,
    sum(CASE WHEN io THEN dur_ns ELSE 0 END) / nullif(sum(dur_ns), 0) AS io_share
FROM waits
GROUP BY reason, syscall
ORDER BY total_ns DESC, reason, syscall
