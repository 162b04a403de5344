-- title: In one cell, the requests in flight of a ring from which a process collects asynchronous I/O
-- kept: table
-- Of a ring (io_uring) or context (libaio) are the requests that were submitted through it. Those of a thread of io_uring
-- whose ring is not known count for each ring of the process; where the ring of a call is not known (other tools'
-- recordings, kernel workers), all requests of the process do.
-- When any is in flight is told to a 60th of the cell, and never more than all of their time.
-- column tgid: process, id
-- column ring: number of the ring or context; NULL for all of the process together, number
-- column cell: number of the cell, number
-- column busy_share: of the cell, with any read or write in flight, share
-- column flight_ns: reads and writes in flight, each counted, ns
-- column read_share: of flight_ns, reads, share
WITH collecting AS (
    SELECT tgid, ring FROM main.classed_sleeps WHERE class = 'collect'
    UNION
    SELECT tgid, CAST(NULL AS BIGINT) FROM main.waits WHERE syscall IN (SELECT name FROM call_kinds WHERE kind = 'collect')
    UNION
    SELECT tgid, CAST(NULL AS BIGINT) FROM main.threads WHERE comm LIKE 'iou-wrk-%'
), flights AS (
    -- Begin and end in 60ths of a cell, counted from the start.
    SELECT
        q.tgid, c.ring, q.op = 'read' AS reads, g.start_ns, g.grid_ns, q.queue_ns AS begin_ns, q.complete_ns AS end_ns,
        least(greatest(q.queue_ns - g.start_ns, 0) * 60 // g.grid_ns, g.last_cell * 60 + 59) AS from_slot,
        least(greatest(q.complete_ns - 1 - g.start_ns, 0) * 60 // g.grid_ns, g.last_cell * 60 + 59) AS to_slot
    FROM main.block_requests q
    JOIN collecting c ON c.tgid = q.tgid
    LEFT JOIN (SELECT DISTINCT tid FROM main.threads WHERE comm LIKE 'iou-%') u ON u.tid = q.tid
    CROSS JOIN budget_grid g
    WHERE q.op IN ('read', 'write') AND q.complete_ns > q.queue_ns
        AND (c.ring IS NULL OR q.ring = c.ring OR (q.ring IS NULL AND u.tid IS NOT NULL))
), slots AS (
    -- Cell by cell, not kept: there are as many rows as requests, or more.
    SELECT
        tgid, ring, cell, reads, grid_ns,
        CASE WHEN to_slot < 60 * (cell + 1) THEN end_ns ELSE start_ns + (cell + 1) * grid_ns END
            - CASE WHEN from_slot >= 60 * cell THEN begin_ns ELSE start_ns + cell * grid_ns END AS ns,
        greatest(from_slot - 60 * cell, 0) AS from_slot,
        least(to_slot - 60 * cell, 59) AS to_slot
    FROM (SELECT *, unnest(generate_series(from_slot // 60, to_slot // 60)) AS cell FROM flights) AS f
), summed AS (
    SELECT
        tgid,
        ring,
        cell,
        max(grid_ns) AS grid_ns,
        bit_count(bit_or((CAST(1 AS BIGINT) << (to_slot + 1)) - (CAST(1 AS BIGINT) << from_slot)))
            AS slots,
        CAST(sum(ns) AS BIGINT) AS flight_ns,
        CAST(sum(CASE WHEN reads THEN ns ELSE 0 END) AS BIGINT) AS read_ns
    FROM slots
    GROUP BY tgid, ring, cell
)
SELECT
    tgid,
    ring,
    cell,
    least(slots / 60, flight_ns / grid_ns) AS busy_share,
    flight_ns,
    read_ns / flight_ns AS read_share
FROM summed
