-- title: Interruptible sleep that waits for storage, in calls of one name and class for one filesystem
-- uses: storage_sleeps
-- filtered as: nothing
-- kept: table
-- Calls are read once for all that need no more of them than sums.
-- column syscall: call, text
-- column class: read, write, sync, or `collect` (see storage_sleeps), text
-- column dev: filesystem of the file; NULL where the call has none, id
-- column calls: such calls, count
-- column sleeping_ns: their sleep, ns
-- column woken_ns: of those that slept for longer than they computed, and were not blocked for longer: ready and waiting for a CPU, ns
SELECT
    syscall, class, dev,
    count(*) AS calls,
    CAST(sum(sleeping_ns) AS BIGINT) AS sleeping_ns,
    CAST(coalesce(sum(CASE
        WHEN sleeping_ns > coalesce(cpu_ns, 0) AND coalesce(blocked_ns, 0) <= coalesce(cpu_ns, 0) THEN runnable_ns
    END), 0) AS BIGINT) AS woken_ns
FROM storage_sleeps
GROUP BY syscall, class, dev
