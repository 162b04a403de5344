-- title: Latencies that the agent has kept
-- question: How long did calls, waits, syncs and requests take, of which service and on which device?
-- stands in for: biolatency, funclatency, runqlat as they run all day
-- filters: since until
-- about: name service device count mean_ns p50_ns p99_ns
-- column measure: call, sync, io_wait, block, request or pause (docs/agent.md), text
-- column name: of the call, of the sync or of the request's operation, text
-- column service: container (NAMESPACE/POD/NAME if it is in a pod) or service; a control group's path where it belongs to none, text
-- column device: disk, or where the filesystem is mounted, text
-- column count: how often, count
-- column total_ns: their times, ns
-- column mean_ns: mean time, ns
-- column p50_ns: half of them took less than this (the end of their bucket: at most a quarter too much), ns
-- column p99_ns: 99 % of them took less than this, ns
-- column max_ns: all of them took less than this; NULL from 69 s on, ns
-- column bytes: bytes of requests, and of calls that read or write, bytes
-- column times_per_s: how often in a second of the recording, 1/s
WITH latencies AS (
    SELECT
        measure,
        name,
        cgroup,
        dev,
        max(path) AS path,
        max(container) AS container,
        sum(count) AS count,
        sum(count - untimed) AS timed,
        sum(sum_ns) AS total_ns,
        sum(bytes) AS bytes
    FROM agent_latencies
    GROUP BY measure, name, cgroup, dev
), passed AS (
    SELECT sum(interval_ns) AS all_ns
    FROM (SELECT ts_ns, interval_ns FROM agent_counts UNION SELECT ts_ns, interval_ns FROM agent_latencies) x
), buckets AS (
    SELECT measure, name, cgroup, dev, up_to_ns, sum(count) AS count
    FROM agent_buckets
    GROUP BY measure, name, cgroup, dev, up_to_ns
), ranked AS (
    SELECT
        measure,
        name,
        cgroup,
        dev,
        up_to_ns,
        sum(count) OVER (
            PARTITION BY measure, name, cgroup, dev
            ORDER BY CASE WHEN up_to_ns IS NULL THEN 1 ELSE 0 END, up_to_ns ROWS UNBOUNDED PRECEDING
        ) AS upto,
        sum(count) OVER (PARTITION BY measure, name, cgroup, dev) AS total
    FROM buckets
), percentiles AS (
    SELECT
        measure,
        name,
        cgroup,
        dev,
        min(CASE WHEN upto * 2 >= total THEN up_to_ns END) AS p50_ns,
        min(CASE WHEN upto * 100 >= total * 99 THEN up_to_ns END) AS p99_ns,
        CASE WHEN count(up_to_ns) = count(*) THEN max(up_to_ns) END AS max_ns
    FROM ranked
    GROUP BY measure, name, cgroup, dev
), places AS (
    SELECT dev, max(name) AS name FROM devices GROUP BY dev
), mounts AS (
    SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev
)
SELECT
    l.measure,
    l.name,
    coalesce(s.container, nullif(l.container, ''), l.path) AS service,
    CASE
        WHEN l.measure = 'request' THEN coalesce(d.name, CAST(l.dev >> 20 AS VARCHAR) || ':' || CAST(l.dev & 1048575 AS VARCHAR))
        ELSE coalesce(m.mount, d.name, CAST(l.dev >> 20 AS VARCHAR) || ':' || CAST(l.dev & 1048575 AS VARCHAR))
    END AS device,
    l.count,
    l.total_ns,
    l.total_ns / nullif(l.timed, 0) AS mean_ns,
    p.p50_ns,
    p.p99_ns,
    p.max_ns,
    l.bytes,
    l.count * 1e9 / nullif(t.all_ns, 0) AS times_per_s
FROM latencies l
CROSS JOIN passed t
LEFT JOIN percentiles p
    ON p.measure = l.measure
    AND p.name IS NOT DISTINCT FROM l.name
    AND p.cgroup IS NOT DISTINCT FROM l.cgroup
    AND p.dev IS NOT DISTINCT FROM l.dev
LEFT JOIN named_containers s ON s.id = l.container
LEFT JOIN places d ON d.dev = l.dev
LEFT JOIN mounts m ON m.dev = l.dev
ORDER BY l.measure, l.total_ns DESC, l.name, service, device
