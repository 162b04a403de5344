-- title: Processes
-- question: Which processes wait, for what, and which ones load the devices and the page cache?
-- stands in for: iotop, pidstat -d, biotop
-- column comm: name of its first thread, text
-- column tgid: process, id
-- column container: container or service that it was in, text
-- column waited_ns: time of its threads in waits for storage, locks and memory, and held back by limits; NULL where its threads were not recorded, ns
-- column mostly: class of the time budget that most of waited_ns is in, text
-- column reason: reason of most of that, text
-- column read_bytes: read by these, bytes
-- column written_bytes: written by these; what the kernel writes back later is submitted by the kernel's workers, bytes
-- column request_ns: their latencies, summed, ns
-- column requests: block requests that it submitted, count
-- column dirtied_pages: pages of files that it made dirty, pages
-- column evicted_pages: pages that it took out of the page cache, or for which the kernel did so in its name, pages
-- column cpu_ns: time of its threads on a CPU, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column threads: threads that were recorded, count
-- Those that wait most come first, then those that moved most. Of processes outside the command only what they did to devices and the
-- page cache is known.
WITH of_process AS (
    SELECT t.tgid, c.class, o.reason, CAST(sum(o.parts) AS BIGINT) AS parts
    FROM off_cpu o
    JOIN thread_rows t ON t.row_id = o.row_id
    JOIN budget_classes c ON c.key = o.class
    WHERE o.class NOT IN ('idle', 'user', 'kernel', 'runnable', 'unexplained')
    GROUP BY t.tgid, c.class, o.reason
), by_class AS (
    SELECT
        tgid, class, reason, parts,
        sum(parts) OVER (PARTITION BY tgid) AS process_parts,
        sum(parts) OVER (PARTITION BY tgid, class) AS class_parts
    FROM of_process
), ranked AS (
    SELECT
        tgid, class, reason, process_parts,
        row_number() OVER (
            PARTITION BY tgid ORDER BY class_parts DESC, class, parts DESC, coalesce(reason, '')
        ) AS place
    FROM by_class
), heaviest AS (
    SELECT tgid, class, reason, CAST(process_parts AS BIGINT) AS parts FROM ranked WHERE place = 1
), spent AS (
    SELECT
        tgid, count(*) AS threads, sum(cpu_ns) AS cpu_ns, sum(runnable_ns) AS runnable_ns
    FROM thread_totals
    GROUP BY tgid
), sent AS (
    SELECT
        tgid,
        count(*) AS requests,
        sum(CASE WHEN op = 'read' THEN bytes ELSE 0 END) AS read_bytes,
        sum(CASE WHEN op = 'write' THEN bytes ELSE 0 END) AS written_bytes,
        sum(complete_ns - queue_ns) AS request_ns
    FROM counted_requests
    WHERE tgid IS NOT NULL AND counted
    GROUP BY tgid
), cached AS (
    SELECT tgid, sum(dirtied_pages) AS dirtied_pages, sum(evicted_pages) AS evicted_pages
    FROM (
        SELECT tgid, dirtied_pages, evicted_pages FROM page_cache WHERE tgid IS NOT NULL
        UNION ALL
        SELECT tgid, pages, NULL FROM dirtied_by_others
    ) AS p
    GROUP BY tgid
), named AS (
    SELECT tgid, max(comm) AS comm, max(container) AS container
    FROM (
        SELECT tgid, comm, container FROM main.threads WHERE tid = tgid
        UNION ALL
        SELECT tgid, comm, container FROM main.neighbours
    ) AS n
    GROUP BY tgid
), seen AS (
    SELECT tgid FROM spent UNION SELECT tgid FROM sent UNION SELECT tgid FROM cached
)
SELECT
    n.comm,
    s.tgid,
    coalesce(c.name, nullif(n.container, '')) AS container,
    CASE WHEN p.tgid IS NOT NULL THEN CAST(floor(coalesce(w.parts, 0) / 16) AS BIGINT) END AS waited_ns,
    w.class AS mostly,
    w.reason,
    coalesce(q.read_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS read_bytes,
    coalesce(q.written_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS written_bytes,
    q.request_ns,
    coalesce(q.requests, CASE WHEN r.ran_block_requests THEN 0 END) AS requests,
    g.dirtied_pages,
    g.evicted_pages,
    p.cpu_ns,
    p.runnable_ns,
    p.threads
FROM seen s
CROSS JOIN recording r
LEFT JOIN spent p ON p.tgid = s.tgid
LEFT JOIN heaviest w ON w.tgid = s.tgid
LEFT JOIN sent q ON q.tgid = s.tgid
LEFT JOIN cached g ON g.tgid = s.tgid
LEFT JOIN named n ON n.tgid = s.tgid
LEFT JOIN (SELECT id, max(name) AS name FROM main.containers GROUP BY id) c ON c.id = n.container
ORDER BY coalesce(w.parts, 0) DESC, coalesce(q.request_ns, 0) DESC, s.tgid
