-- title: Synchronous writing
-- question: What did fsync-like calls cost in the chosen time?
-- report: sync
-- draws: narrowed
-- place: 241
-- needs: syscalls
-- By when they began. What a call waited for is of the whole run: `iowhy report sync --since --until`.
-- column name: call, text
-- column calls: calls that began, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column cpu_ns: of the durations, on a CPU, ns
-- column runnable_ns: of the durations, ready and waiting for a CPU, ns
-- column blocked_ns: of the durations, in uninterruptible sleep, ns
SELECT ts_ns, name, 1 AS calls, dur_ns AS total_ns, dur_ns AS max_ns, cpu_ns, runnable_ns, blocked_ns
FROM sync_calls
WHERE dur_ns IS NOT NULL
