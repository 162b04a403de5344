-- title: Processes
-- question: Which processes wait, for what, and which ones load the devices and the page cache?
-- stands in for: iotop, pidstat -d, biotop
-- about: comm tgid waited_ns mostly request_ns cpu_ns
-- column comm: its title if it set one, else the name of its first thread, text
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
WITH spent AS (
    SELECT
        tgid, count(*) AS threads, sum(cpu_ns) AS cpu_ns, sum(runnable_ns) AS runnable_ns
    FROM thread_totals
    GROUP BY tgid
), seen AS (
    SELECT tgid FROM spent UNION SELECT tgid FROM process_loads
)
SELECT
    n.comm,
    s.tgid,
    n.container,
    CASE WHEN p.tgid IS NOT NULL THEN CAST(floor(coalesce(w.parts, 0) / 16) AS BIGINT) END AS waited_ns,
    c.class AS mostly,
    w.reason,
    coalesce(q.read_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS read_bytes,
    coalesce(q.written_bytes, CASE WHEN r.ran_block_requests THEN 0 END) AS written_bytes,
    q.request_ns,
    coalesce(q.requests, CASE WHEN r.ran_block_requests THEN 0 END) AS requests,
    q.dirtied_pages,
    q.evicted_pages,
    p.cpu_ns,
    p.runnable_ns,
    p.threads
FROM seen s
CROSS JOIN recording r
LEFT JOIN spent p ON p.tgid = s.tgid
LEFT JOIN process_main_wait w ON w.tgid = s.tgid
LEFT JOIN budget_classes c ON c.key = w.class
LEFT JOIN process_loads q ON q.tgid = s.tgid
LEFT JOIN named_processes n ON n.tgid = s.tgid
ORDER BY coalesce(w.parts, 0) DESC, coalesce(q.request_ns, 0) DESC, s.tgid
