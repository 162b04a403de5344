-- title: Processes
-- question: Which processes waited, and which loaded devices and the page cache in the chosen time?
-- report: processes
-- draws: narrowed
-- place: 248
-- needs: thread_time or block_requests or page_cache
-- heaviest: 40 by sum(waited_ns) DESC, sum(request_ns) DESC
-- The forty processes that waited most, then those that moved most, each interval in which threads were read spread evenly.
-- column comm: name of its first thread, text
-- column tgid: process, id
-- column waited_ns: time of its threads in waits for storage, locks and memory, and held back by limits, ns
-- column read_bytes: read by the requests that it submitted, bytes
-- column written_bytes: written by these, bytes
-- column request_ns: their latencies, summed, ns
-- column requests: block requests that it submitted, count
-- column dirtied_pages: pages of files that it made dirty, pages
-- column evicted_pages: pages that it took out of the page cache, or the kernel in its name, pages
-- column cpu_ns: time of its threads on a CPU, ns
-- column runnable_ns: time of its threads ready and waiting for a CPU, ns
WITH waiting AS (
    SELECT row_id, sum(parts) / 16 AS waited_ns
    FROM off_cpu
    WHERE class NOT IN ('idle', 'user', 'kernel', 'runnable', 'unexplained')
    GROUP BY row_id
), happening AS (
    SELECT
        c.start_ns + p.cell * c.cell_ns AS ts_ns, t.tgid, coalesce(w.waited_ns, 0) * p.part AS waited_ns, 0 AS read_bytes, 0 AS written_bytes, 0 AS request_ns,
        0 AS requests, 0 AS dirtied_pages, 0 AS evicted_pages,
        (t.user_ns + t.kernel_ns + t.recorder_ns) * p.part AS cpu_ns, t.runnable_ns * p.part AS runnable_ns
    FROM thread_intervals t
    JOIN thread_chart_cells p ON p.row_id = t.row_id
    CROSS JOIN chart_cells c
    LEFT JOIN waiting w ON w.row_id = t.row_id
    UNION ALL
    SELECT
        queue_ns, tgid, 0, CASE WHEN op = 'read' THEN bytes ELSE 0 END, CASE WHEN op = 'write' THEN bytes ELSE 0 END,
        complete_ns - queue_ns, 1, 0, 0, 0, 0
    FROM counted_requests
    WHERE tgid IS NOT NULL AND counted
    UNION ALL
    SELECT ts_ns, tgid, 0, 0, 0, 0, 0, dirtied_pages, evicted_pages, 0, 0 FROM page_cache WHERE tgid IS NOT NULL
    UNION ALL
    SELECT ts_ns, tgid, 0, 0, 0, 0, 0, pages, 0, 0, 0 FROM dirtied_by_others
)
SELECT p.*, n.comm
FROM happening p
LEFT JOIN named_processes n ON n.tgid = p.tgid
