-- title: Events in order
-- question: What were the longest events of the chosen time?
-- report: events
-- draws: listed
-- place: 255
-- needs: syscalls or waits or block_requests
-- The three longest that began in each cell.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column tid: thread; of a request, the one that submitted it, id
-- column event: call, operation, wait or request, text
-- column name: the call; the reason of the wait; the operation of the request, text
-- column dur_ns: length; of a request, from queue to completion, ns
-- column path: file, or the device of a request without one, text
-- column bytes: bytes asked for, bytes
-- column comm: name of the thread, text
WITH placed AS (
    SELECT
        h.*,
        row_number() OVER (
            PARTITION BY greatest(least((h.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0)
            ORDER BY h.dur_ns DESC NULLS LAST, h.ts_ns, h.tid, h.nested
        ) AS place
    FROM command_events h
    CROSS JOIN chart_cells c
)
SELECT
    (h.ts_ns - c.start_ns) / 1e9 AS at_s,
    0.0 AS span_s,
    h.tid,
    h.event,
    h.name,
    h.dur_ns,
    coalesce(p.path, d.name) AS path,
    h.bytes,
    n.comm
FROM placed h
CROSS JOIN chart_cells c
LEFT JOIN named_threads n ON n.tgid = h.tgid AND n.tid = h.tid
LEFT JOIN named_files p ON p.dev = h.dev AND p.ino = h.ino
LEFT JOIN devices d ON d.dev = h.disk
WHERE h.place <= 3
ORDER BY h.ts_ns, h.tid, h.nested, h.name
