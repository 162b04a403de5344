-- title: Who suffers, and who causes it
-- question: Which processes wait, for what and how long, and who else loads what they wait for most?
-- stands in for: atop, iotop next to iostat
-- filters: since until
-- about: comm tgid waited_ns mostly resource other_container other_comm other_share
-- column comm: name of the process that waits, text
-- column tgid: process, id
-- column container: container or service that it is in, text
-- column waited_ns: time of its threads in waits for storage, locks and memory, and held back by limits, ns
-- column mostly: class of the time budget that most of it is in, text
-- column mostly_ns: time in that class, ns
-- column reason: reason of most of that, text
-- column resource: what it waits for: the device that its own requests went to most, dirty pages or the page cache; NULL if not known, text
-- column own_share: its own part of the load on that: of the requests' latencies, the pages made dirty, or those evicted, share
-- column other_container: the container, service or session that loads it most, but for the process itself, or a program of several titles; else NULL, text
-- column other_comm: the program that does, by its title if it has one; of several the one with most of the load, text
-- column other_processes: how many processes that are, of the container, service or session if there is one, count
-- column other_tgid: the one of that program that loads it most, id
-- column other_share: their part of the load, share
-- Who causes it is a container, else a service, a session, a program (relation process_groups): never one process of a group that loads more.
-- A load on the same resource at the same time is what can cause the wait; whether it does, the findings of `iowhy why` and an experiment say.
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
        l.resource, l.tgid, l.load,
        l.load / nullif(sum(l.load) OVER (PARTITION BY l.resource), 0) AS load_share,
        coalesce(g.group_key, CAST(l.tgid AS VARCHAR)) AS group_key, g.container, g.comm, g.program
    FROM loads l
    LEFT JOIN process_groups g ON g.tgid = l.tgid
    WHERE l.load > 0
), grouped AS (
    SELECT
        resource, group_key, sum(load_share) AS group_share,
        row_number() OVER (PARTITION BY resource ORDER BY sum(load) DESC, group_key) AS place
    FROM parted
    GROUP BY resource, group_key
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
    FROM process_main_wait w
    LEFT JOIN own_device o ON o.tgid = w.tgid
    LEFT JOIN named_devices d ON d.dev = o.dev
), heavy AS (
    -- The heaviest group but for the process itself is the first or the second of all, or its own.
    SELECT s.tgid, s.resource, g.group_key, g.group_share - coalesce(p.load_share, 0) AS other_share
    FROM sufferers s
    LEFT JOIN process_groups o ON o.tgid = s.tgid
    JOIN grouped g
        ON g.resource = s.resource AND (g.place <= 2 OR g.group_key = coalesce(o.group_key, CAST(s.tgid AS VARCHAR)))
    LEFT JOIN parted p ON p.resource = s.resource AND p.tgid = s.tgid AND p.group_key = g.group_key
), heaviest AS (
    SELECT *, row_number() OVER (PARTITION BY tgid ORDER BY other_share DESC, group_key) AS place
    FROM heavy
), members AS (
    SELECT
        h.tgid, h.other_share, p.tgid AS other_tgid, p.comm, p.load_share,
        coalesce(p.container, CASE WHEN min(p.comm) OVER (PARTITION BY h.tgid) < max(p.comm) OVER (PARTITION BY h.tgid) THEN p.program END)
            AS container,
        count(*) OVER (PARTITION BY h.tgid) AS processes,
        sum(p.load_share) OVER (PARTITION BY h.tgid, p.comm) AS program_share
    FROM heaviest h
    JOIN parted p ON p.resource = h.resource AND p.group_key = h.group_key AND p.tgid <> h.tgid
    WHERE h.place = 1
), others AS (
    SELECT *, row_number() OVER (PARTITION BY tgid ORDER BY program_share DESC, comm, load_share DESC, other_tgid) AS place
    FROM members
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
    o.container AS other_container,
    o.comm AS other_comm,
    o.processes AS other_processes,
    o.other_tgid,
    o.other_share
FROM sufferers s
JOIN budget_classes c ON c.key = s.class
LEFT JOIN parted p ON p.resource = s.resource AND p.tgid = s.tgid
LEFT JOIN others o ON o.tgid = s.tgid AND o.place = 1
LEFT JOIN named_processes n ON n.tgid = s.tgid
WHERE s.parts >= 16
ORDER BY s.parts DESC, s.tgid
