-- title: Processes
-- question: Which processes waited, and which loaded devices and the page cache in the chosen time?
-- report: processes
-- draws: narrowed
-- place: 248
-- needs: thread_time or block_requests or page_cache
-- The forty processes that waited most, then those that moved most, each interval in which threads were read spread evenly.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
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
), heaviest AS (
    SELECT tgid
    FROM happening
    GROUP BY tgid
    ORDER BY sum(waited_ns) DESC, sum(request_ns) DESC NULLS LAST, tgid
    LIMIT 40
)
SELECT
    greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    max(n.comm) AS comm,
    p.tgid,
    CAST(round(sum(p.waited_ns)) AS BIGINT) AS waited_ns,
    CAST(sum(p.read_bytes) AS BIGINT) AS read_bytes,
    CAST(sum(p.written_bytes) AS BIGINT) AS written_bytes,
    CAST(sum(p.request_ns) AS BIGINT) AS request_ns,
    CAST(sum(p.requests) AS BIGINT) AS requests,
    CAST(sum(p.dirtied_pages) AS BIGINT) AS dirtied_pages,
    CAST(sum(p.evicted_pages) AS BIGINT) AS evicted_pages,
    CAST(round(sum(p.cpu_ns)) AS BIGINT) AS cpu_ns,
    CAST(round(sum(p.runnable_ns)) AS BIGINT) AS runnable_ns
FROM happening p
CROSS JOIN chart_cells c
JOIN heaviest h ON h.tgid = p.tgid
LEFT JOIN named_processes n ON n.tgid = p.tgid
GROUP BY greatest(least((p.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), p.tgid
ORDER BY waited_ns DESC, request_ns DESC NULLS LAST, p.tgid, at_s
