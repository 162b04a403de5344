-- title: Where requests go
-- question: How often did each device jump in the chosen time?
-- report: request-pattern
-- draws: narrowed
-- place: 247
-- needs: block_requests
-- By when they were issued to the driver.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column device: block device, text
-- column op: read or write, text
-- column whose: command, shared (journal, metadata) or others, text
-- column requests: requests with a place on the device, count
-- column bytes: their bytes, bytes
-- column jumps: of these, not where the device's previous request ended, count
-- column backward: of the jumps, towards lower addresses, count
SELECT
    greatest(least((q.sent_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)) AS device,
    q.op,
    q.whose,
    count(*) AS requests,
    CAST(sum(q.bytes) AS BIGINT) AS bytes,
    count(CASE WHEN q.seek_bytes <> 0 THEN 1 END) AS jumps,
    count(CASE WHEN q.seek_bytes < 0 THEN 1 END) AS backward
FROM request_sequence q
CROSS JOIN chart_cells c
LEFT JOIN devices d ON d.dev = q.dev
GROUP BY greatest(least((q.sent_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)), q.op, q.whose
ORDER BY bytes DESC, device, q.op, q.whose, at_s
