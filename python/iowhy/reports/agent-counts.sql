-- title: Pages that the agent has counted
-- question: Which service has to read again what the page cache lacked, on which filesystem?
-- stands in for: cachestat as it runs all day
-- filters: since until
-- about: service filesystem missed_bytes evicted_bytes
-- column service: container (NAMESPACE/POD/NAME if it is in a pod) or service; a control group's path where it belongs to none, text
-- column filesystem: where it is mounted, text
-- column missed_bytes: pages that came into the page cache other than by a write, bytes
-- column evicted_bytes: pages that left it, freed by whoever needed memory or truncated, bytes
-- column missed_bytes_per_s: missed_bytes in a second of the recording, bytes/s
WITH passed AS (
    SELECT sum(interval_ns) AS all_ns
    FROM (SELECT ts_ns, interval_ns FROM agent_counts UNION SELECT ts_ns, interval_ns FROM agent_latencies) x
), counted AS (
    SELECT
        cgroup,
        dev,
        max(path) AS path,
        max(container) AS container,
        sum(CASE WHEN name = 'cache_missed' THEN bytes ELSE 0 END) AS missed_bytes,
        sum(CASE WHEN name = 'cache_evicted' THEN bytes ELSE 0 END) AS evicted_bytes
    FROM agent_counts
    WHERE name IN ('cache_missed', 'cache_evicted')
    GROUP BY cgroup, dev
), mounts AS (
    SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev
)
SELECT
    coalesce(s.container, nullif(c.container, ''), c.path) AS service,
    coalesce(m.mount, CAST(c.dev >> 20 AS VARCHAR) || ':' || CAST(c.dev & 1048575 AS VARCHAR)) AS filesystem,
    c.missed_bytes,
    c.evicted_bytes,
    c.missed_bytes * 1e9 / nullif(p.all_ns, 0) AS missed_bytes_per_s
FROM counted c
CROSS JOIN passed p
LEFT JOIN named_containers s ON s.id = c.container
LEFT JOIN mounts m ON m.dev = c.dev
ORDER BY c.missed_bytes DESC, service, filesystem
