-- title: What the agent counted and timed in a recording, by service
-- column measure: call, sync, io_wait, block, request or pause, text
-- column name: of the call, of the sync or of the request's operation; empty outside any call, text
-- column service: container (NAMESPACE/NAME of a pod's) or service; empty if there is none, and of requests, which are a disk's, text
-- column times: those whose time is known, count
-- column total_ns: their times, ns
SELECT
    l.measure,
    coalesce(l.name, '') AS name,
    CASE WHEN l.measure = 'request' THEN '' ELSE coalesce(s.workload, l.container, '') END AS service,
    sum(l.count - l.untimed) AS times,
    sum(l.sum_ns) AS total_ns
FROM agent_latencies l
LEFT JOIN named_containers s ON s.id = l.container
GROUP BY
    l.measure,
    coalesce(l.name, ''),
    CASE WHEN l.measure = 'request' THEN '' ELSE coalesce(s.workload, l.container, '') END
