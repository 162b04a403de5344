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
    SELECT
        q.tgid, c.ring, q.op = 'read' AS reads, g.start_ns, g.grid_ns, g.last_cell,
        q.queue_ns AS begin_ns, q.complete_ns AS end_ns,
        least(greatest(q.queue_ns - g.start_ns, 0) // g.grid_ns, g.last_cell) AS from_cell,
        least(greatest(q.complete_ns - 1 - g.start_ns, 0) // g.grid_ns, g.last_cell) AS to_cell
    FROM main.block_requests q
    JOIN collecting c ON c.tgid = q.tgid
    LEFT JOIN (SELECT DISTINCT tid FROM main.threads WHERE comm LIKE 'iou-%') u ON u.tid = q.tid
    CROSS JOIN budget_grid g
    WHERE q.op IN ('read', 'write') AND q.complete_ns > q.queue_ns
        AND (c.ring IS NULL OR q.ring = c.ring OR (q.ring IS NULL AND u.tid IS NOT NULL))
), clipped AS (
    SELECT
        tgid, ring, from_cell AS cell, reads, start_ns, grid_ns, begin_ns,
        CASE WHEN from_cell = to_cell THEN end_ns ELSE start_ns + (from_cell + 1) * grid_ns END AS end_ns
    FROM flights
    UNION ALL
    SELECT
        tgid, ring, cell, reads, start_ns, grid_ns, start_ns + cell * grid_ns,
        CASE WHEN cell = to_cell THEN end_ns ELSE start_ns + (cell + 1) * grid_ns END
    FROM (
        SELECT *, unnest(generate_series(from_cell + 1, to_cell)) AS cell
        FROM flights
        WHERE from_cell < to_cell
    ) AS f
), slots AS (
    SELECT
        tgid, ring, cell, reads, end_ns - begin_ns AS ns, grid_ns,
        least(greatest((begin_ns - start_ns - cell * grid_ns) * 60 // grid_ns, 0), 59) AS from_slot,
        least(greatest((end_ns - 1 - start_ns - cell * grid_ns) * 60 // grid_ns, 0), 59) AS to_slot
    FROM clipped
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
