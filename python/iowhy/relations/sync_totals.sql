-- title: The sync calls of one name, summed
-- As the recorder summed them up; else by the rows. What a sync call is stands in sync_calls.
-- column name: call, as sync_calls has it, text
-- column calls: calls, count
-- column total_ns: their durations, ns
-- column cpu_ns: of total_ns, on a CPU, ns
-- column runnable_ns: of total_ns, ready and waiting for a CPU, ns
-- column max_ns: the longest, ns
-- column files: different files, count
-- when call_sums and sync_sums
SELECT
    CASE WHEN k.kind = 'sync' THEN s.name ELSE s.name || ' (O_SYNC)' END AS name,
    CAST(sum(s.calls) AS BIGINT) AS calls,
    sum(s.total_ns) AS total_ns,
    sum(s.cpu_ns) AS cpu_ns,
    sum(s.runnable_ns) AS runnable_ns,
    max(s.max_ns) AS max_ns,
    count(DISTINCT CASE WHEN s.ino IS NOT NULL THEN (s.dev, s.ino) END) AS files
FROM call_sums s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'sync' OR (k.kind IN ('write', 'copy') AND s.durable)
GROUP BY CASE WHEN k.kind = 'sync' THEN s.name ELSE s.name || ' (O_SYNC)' END
-- else
SELECT
    name,
    count(*) AS calls,
    sum(dur_ns) AS total_ns,
    sum(cpu_ns) AS cpu_ns,
    sum(runnable_ns) AS runnable_ns,
    max(dur_ns) AS max_ns,
    count(DISTINCT CASE WHEN ino IS NOT NULL THEN (dev, ino) END) AS files
FROM sync_calls
GROUP BY name
