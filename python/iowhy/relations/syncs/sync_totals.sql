-- title: The sync calls of one name, summed
-- uses: files, sync_calls_by_file
-- column name: call, as sync_calls has it, text
-- column calls: calls, count
-- column total_ns: their durations, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column max_ns: the longest, ns
-- column files: different files, count
SELECT
    name,
    CAST(sum(calls) AS BIGINT) AS calls,
    sum(total_ns) AS total_ns,
    sum(cpu_ns) AS cpu_ns,
    sum(runnable_ns) AS runnable_ns,
    max(max_ns) AS max_ns,
    count(DISTINCT CASE WHEN ino IS NOT NULL THEN (dev, ino) END) AS files
FROM sync_calls_by_file
GROUP BY name
