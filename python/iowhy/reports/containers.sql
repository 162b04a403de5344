-- title: Containers and services
-- question: Which containers and services wait, for what, and which ones load the devices and the page cache?
-- stands in for: systemd-cgtop, docker stats
-- about: container waited_ns mostly request_ns cpu_ns read_bytes written_bytes
-- column container: container (NAMESPACE/POD/NAME if it is in a pod), or unit of systemd; NULL: what is in none, text
-- column processes: processes of it that were seen, count
-- column waited_ns: time of its threads in waits for storage, locks and memory, and held back by limits; NULL if none was recorded, ns
-- column mostly: class of the time budget that most of waited_ns is in, text
-- column reason: reason of most of that, text
-- column read_bytes: read by requests that it submitted, bytes
-- column written_bytes: written by these; what the kernel writes back later is submitted by the kernel's workers, bytes
-- column request_ns: their latencies, summed, ns
-- column requests: block requests that it submitted, count
-- column dirtied_pages: pages of files that it made dirty, pages
-- column evicted_pages: pages that it took out of the page cache, or for which the kernel did so in its name, pages
-- column cpu_ns: time of its threads on a CPU, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column pod: its pod, as NAMESPACE/NAME where the namespace is known; NULL in none, text
-- column image: image that it was made from, text
-- column container_id: its id, which alone distinguishes it from others of the same name, text
-- The sums of `report processes`. Those that wait most come first, then those that moved most.
WITH spent AS (
    SELECT tgid, sum(cpu_ns) AS cpu_ns, sum(runnable_ns) AS runnable_ns FROM thread_totals GROUP BY tgid
), seen AS (
    SELECT tgid FROM spent UNION SELECT tgid FROM process_loads
), by_reason AS (
    SELECT n.container_id, w.class, w.reason, sum(w.parts) AS parts
    FROM process_waits w
    LEFT JOIN named_processes n ON n.tgid = w.tgid
    GROUP BY n.container_id, w.class, w.reason
), by_class AS (
    SELECT
        *,
        sum(parts) OVER (PARTITION BY container_id) AS whole_parts,
        sum(parts) OVER (PARTITION BY container_id, class) AS class_parts
    FROM by_reason
), ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY container_id ORDER BY class_parts DESC, class, parts DESC, coalesce(reason, '')
        ) AS place
    FROM by_class
), heaviest AS (
    SELECT r.container_id, c.class, r.reason, CAST(r.whole_parts AS BIGINT) AS parts
    FROM ranked r
    JOIN budget_classes c ON c.key = r.class
    WHERE r.place = 1
), summed AS (
    SELECT
        n.container_id,
        max(n.container) AS container,
        count(*) AS processes,
        count(p.tgid) AS recorded,
        sum(q.read_bytes) AS read_bytes,
        sum(q.written_bytes) AS written_bytes,
        sum(q.request_ns) AS request_ns,
        sum(q.requests) AS requests,
        sum(q.dirtied_pages) AS dirtied_pages,
        sum(q.evicted_pages) AS evicted_pages,
        sum(p.cpu_ns) AS cpu_ns,
        sum(p.runnable_ns) AS runnable_ns
    FROM seen s
    LEFT JOIN spent p ON p.tgid = s.tgid
    LEFT JOIN process_loads q ON q.tgid = s.tgid
    LEFT JOIN named_processes n ON n.tgid = s.tgid
    GROUP BY n.container_id
)
SELECT
    s.container,
    s.processes,
    CASE WHEN s.recorded > 0 THEN CAST(floor(coalesce(w.parts, 0) / 16) AS BIGINT) END AS waited_ns,
    w.class AS mostly,
    w.reason,
    coalesce(s.read_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS read_bytes,
    coalesce(s.written_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS written_bytes,
    s.request_ns,
    coalesce(s.requests, CASE WHEN r.ran_block_requests THEN 0 END) AS requests,
    s.dirtied_pages,
    s.evicted_pages,
    s.cpu_ns,
    s.runnable_ns,
    k.pod,
    k.image,
    s.container_id
FROM summed s
CROSS JOIN recording r
LEFT JOIN named_containers k ON k.id = s.container_id
LEFT JOIN heaviest w ON w.container_id IS NOT DISTINCT FROM s.container_id
ORDER BY coalesce(w.parts, 0) DESC, coalesce(s.request_ns, 0) DESC, s.container, s.container_id
