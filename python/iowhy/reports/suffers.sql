-- title: Who suffers, and who causes it
-- question: Which processes wait, for what and how long, and who else loads what they wait for most?
-- stands in for: atop, iotop beside iostat
-- filters: since until
-- column comm: name of the process that waits, text
-- column tgid: process, id
-- column container: container or service that it is in, text
-- column waited_ns: time of its threads in waits for storage, locks and memory, and held back by limits, ns
-- column mostly: class of the time budget that most of it is in, text
-- column mostly_ns: time in that class, ns
-- column reason: reason of most of that, text
-- column resource: what it waits for: the device that its own requests went to most, dirty pages or the page cache; NULL where that is not known, text
-- column own_share: its own part of the load on that: of the requests' latencies, the pages made dirty, or those evicted, share
-- column other_comm: the process that loads it most, but for itself, text
-- column other_tgid: this process, id
-- column other_container: container or service that this is in, text
-- column other_share: its part of the load, share
-- A load on the same resource at the same time is what can cause the wait; whether it does, the findings of `iowhy why` and an experiment tell.
-- What the kernel writes back later is a load of its workers. Waits for locks have no such resource: `iowhy report waits`.
WITH sent AS (
    SELECT tgid, dev, sum(complete_ns - queue_ns) AS load
    FROM counted_requests
    WHERE tgid IS NOT NULL AND counted
    GROUP BY tgid, dev
), named_devices AS (
    SELECT dev, max(name) AS name FROM devices GROUP BY dev
), loads AS (
    SELECT coalesce(d.name, CAST(s.dev AS VARCHAR)) AS resource, s.tgid, s.load
    FROM sent s
    LEFT JOIN named_devices d ON d.dev = s.dev
    UNION ALL
    SELECT 'dirty pages', tgid, dirtied_pages FROM process_loads
    UNION ALL
    SELECT 'page cache', tgid, evicted_pages FROM process_loads
), parted AS (
    SELECT
        resource, tgid, load,
        load / nullif(sum(load) OVER (PARTITION BY resource), 0) AS load_share,
        row_number() OVER (PARTITION BY resource ORDER BY load DESC, tgid) AS place
    FROM loads
    WHERE load > 0
), own_device AS (
    SELECT tgid, max_by(dev, load) AS dev FROM sent GROUP BY tgid
), sufferers AS (
    SELECT
        w.*,
        CASE
            WHEN w.class IN ('read', 'write', 'sync') THEN coalesce(d.name, CAST(o.dev AS VARCHAR))
            WHEN w.class = 'throttled' AND w.reason LIKE '%dirty%' THEN 'dirty pages'
            WHEN w.class = 'memory' THEN 'page cache'
        END AS resource
    FROM process_mostly w
    LEFT JOIN own_device o ON o.tgid = w.tgid
    LEFT JOIN named_devices d ON d.dev = o.dev
), others AS (
    -- The heaviest but for itself is the first or the second of all.
    SELECT s.tgid, p.tgid AS other_tgid, p.load_share AS other_share,
        row_number() OVER (PARTITION BY s.tgid ORDER BY p.place) AS place
    FROM sufferers s
    JOIN parted p ON p.resource = s.resource AND p.tgid <> s.tgid AND p.place <= 2
)
SELECT
    n.comm,
    s.tgid,
    n.container,
    CAST(floor(s.parts / 16) AS BIGINT) AS waited_ns,
    c.class AS mostly,
    CAST(floor(s.class_parts / 16) AS BIGINT) AS mostly_ns,
    s.reason,
    s.resource,
    CASE WHEN s.resource IS NOT NULL THEN coalesce(p.load_share, 0) END AS own_share,
    m.comm AS other_comm,
    o.other_tgid,
    m.container AS other_container,
    o.other_share
FROM sufferers s
JOIN budget_classes c ON c.key = s.class
LEFT JOIN parted p ON p.resource = s.resource AND p.tgid = s.tgid
LEFT JOIN others o ON o.tgid = s.tgid AND o.place = 1
LEFT JOIN named_processes n ON n.tgid = s.tgid
LEFT JOIN named_processes m ON m.tgid = o.other_tgid
WHERE s.parts >= 16
ORDER BY s.parts DESC, s.tgid
