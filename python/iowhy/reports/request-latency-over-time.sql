-- title: Latency of block requests over time
-- question: When did requests take how long, from queue to completion?
-- stands in for: heat maps of biosnoop's or blktrace's lines
-- heat map: requests from low_ns to high_ns over at_s by device op whose
-- filters: since until pid container file device
-- about: at_s device op low_ns high_ns requests
-- column at_s: begin of the cell, after the start of the recording, s
-- column span_s: its length, s
-- column device: block device, text
-- column op: read, write, flush, discard or other, text
-- column whose: command, shared (journal, metadata, flush) or others, text
-- column low_ns: shortest latency of the bucket, a power of two or one and a half of it, ns
-- column high_ns: first latency above the bucket, ns
-- column requests: requests that were queued in the cell and took so long, count
-- The same cells as in the page's chart. Requests whose completion was not seen are in none.
WITH groups AS (
    SELECT dev, op, whose, sum(requests) AS all_requests FROM request_latency_cells GROUP BY dev, op, whose
)
SELECT
    (c.start_ns - r.start_ns + l.cell * c.cell_ns) / 1e9 AS at_s,
    c.cell_ns / 1e9 AS span_s,
    coalesce(d.name, CAST(l.dev >> 20 AS VARCHAR) || ':' || CAST(l.dev & 1048575 AS VARCHAR)) AS device,
    l.op,
    l.whose,
    l.low_ns,
    l.high_ns,
    l.requests
FROM request_latency_cells l
JOIN groups g ON g.dev = l.dev AND g.op = l.op AND g.whose = l.whose
CROSS JOIN chart_cells c
CROSS JOIN recording r
LEFT JOIN devices d ON d.dev = l.dev
ORDER BY g.all_requests DESC, l.dev, l.op, l.whose, at_s, l.low_ns
