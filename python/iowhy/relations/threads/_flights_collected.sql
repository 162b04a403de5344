-- title: In one cell, what is in flight of a ring from which a process collects asynchronous I/O
-- uses: async_operations, block_requests, budget_grid, call_kinds, nonstorage_files, storage_sleepers, threads, wait_totals
-- filtered as: nothing
-- kept: table
-- An operation on storage is in flight from its submission to its result, whatever happens below: requests, a commit, a flush, a sleep in a
-- filesystem. Of a process whose operations (or their results) were not seen the requests are, and of any process those that never ended:
-- the operation above has no end either. Of a ring (io_uring) or context (libaio) is what was submitted through it. Those of a thread of io_uring
-- whose ring is not known count for each ring of the process; where the ring of a call is not known (other tools'
-- recordings, kernel workers), all requests of the process do.
-- When anything is in flight is known to a 60th of the cell, and never more than all of their time.
-- column tgid: process, id
-- column ring: number of the ring or context; NULL for all of the process together, number
-- column cell: number of the cell, number
-- column busy_share: of the cell, with anything in flight, share
-- column flight_ns: in flight, each counted, ns
-- column read_share: of flight_ns, reads, share
-- column sync_share: of flight_ns, what is to make data durable (fsync, O_DSYNC), share
WITH collecting AS (
    SELECT tgid, ring FROM storage_sleepers WHERE collects
    UNION
    SELECT tgid, CAST(NULL AS BIGINT) FROM wait_totals WHERE syscall IN (SELECT name FROM call_kinds WHERE kind = 'collect')
    UNION
    SELECT tgid, CAST(NULL AS BIGINT) FROM threads WHERE comm LIKE 'iou-wrk-%'
), operated AS (
    SELECT
        a.tgid, a.ring, a.ring IS NULL AS of_each_ring,
        CASE WHEN a.kind = 'sync' OR a.durable THEN 'sync' ELSE a.kind END AS class,
        a.submit_ns AS begin_ns, a.complete_ns AS end_ns
    FROM async_operations a
    LEFT JOIN nonstorage_files p ON p.dev = a.dev AND p.ino = a.ino
    WHERE (a.kind IN ('read', 'write', 'sync')) = true AND a.complete_ns > a.submit_ns AND p.dev IS NULL
), requested AS (
    SELECT
        q.tgid, q.ring, q.ring IS NULL AND u.tid IS NOT NULL AS of_each_ring, q.op AS class,
        q.queue_ns AS begin_ns, coalesce(q.complete_ns, q.over_by_ns, g.start_ns + g.elapsed_ns) AS end_ns
    FROM block_requests q
    LEFT JOIN (SELECT DISTINCT tid FROM threads WHERE comm LIKE 'iou-%') u ON u.tid = q.tid
    LEFT JOIN (SELECT DISTINCT tgid FROM operated) o ON o.tgid = q.tgid
    CROSS JOIN budget_grid g
    -- The list as a value: in a filter of a file DuckDB looks for the text of each row in it.
    WHERE (q.op IN ('read', 'write')) = true AND q.tgid IN (SELECT tgid FROM collecting)
        AND (o.tgid IS NULL OR (q.complete_ns IS NULL AND q.over_by_ns IS NULL))
), placed AS (
    -- Begin and end from the start, and in 60ths of a cell.
    SELECT
        f.tgid, f.ring, f.of_each_ring, f.class,
        f.begin_ns - g.start_ns AS begin_ns, f.end_ns - g.start_ns AS end_ns,
        (f.begin_ns - g.start_ns) * 60 // g.grid_ns AS from_slot,
        (f.end_ns - 1 - g.start_ns) * 60 // g.grid_ns AS to_slot
    FROM (SELECT * FROM operated UNION ALL SELECT * FROM requested) AS f
    CROSS JOIN budget_grid g
    WHERE f.end_ns > f.begin_ns
), flights AS (
    -- Many begin and end in the same 60ths: the rest is done once for all of them.
    SELECT
        tgid, ring, of_each_ring, class, from_slot, to_slot,
        count(*) AS number, sum(begin_ns) AS begin_ns, sum(end_ns) AS end_ns
    FROM placed
    GROUP BY tgid, ring, of_each_ring, class, from_slot, to_slot
), within AS (
    -- The last cell takes in what ends after it, the first what began before.
    SELECT
        f.tgid, f.ring, f.of_each_ring, f.class, f.number, f.begin_ns, f.end_ns,
        least(greatest(f.from_slot, 0), g.last_cell * 60 + 59) AS from_slot,
        least(greatest(f.to_slot, 0), g.last_cell * 60 + 59) AS to_slot
    FROM flights f
    CROSS JOIN budget_grid g
), slots AS (
    SELECT
        f.tgid, c.ring, f.cell, f.class,
        CASE WHEN f.to_slot < 60 * (f.cell + 1) THEN f.end_ns ELSE f.number * (f.cell + 1) * g.grid_ns END
            - CASE WHEN f.from_slot >= 60 * f.cell THEN f.begin_ns ELSE f.number * f.cell * g.grid_ns END AS ns,
        greatest(f.from_slot - 60 * f.cell, 0) AS from_slot,
        least(f.to_slot - 60 * f.cell, 59) AS to_slot
    FROM (SELECT *, unnest(generate_series(from_slot // 60, to_slot // 60)) AS cell FROM within) AS f
    CROSS JOIN budget_grid g
    JOIN collecting c ON c.tgid = f.tgid AND (c.ring IS NULL OR c.ring = f.ring OR f.of_each_ring)
), summed AS (
    SELECT
        tgid,
        ring,
        cell,
        bit_count(bit_or((CAST(1 AS BIGINT) << (to_slot + 1)) - (CAST(1 AS BIGINT) << from_slot)))
            AS slots,
        CAST(sum(ns) AS BIGINT) AS flight_ns,
        CAST(sum(CASE WHEN class = 'read' THEN ns ELSE 0 END) AS BIGINT) AS read_ns,
        CAST(sum(CASE WHEN class = 'sync' THEN ns ELSE 0 END) AS BIGINT) AS sync_ns
    FROM slots
    GROUP BY tgid, ring, cell
)
SELECT
    s.tgid,
    s.ring,
    s.cell,
    least(s.slots / 60, s.flight_ns / g.grid_ns) AS busy_share,
    s.flight_ns,
    s.read_ns / s.flight_ns AS read_share,
    s.sync_ns / s.flight_ns AS sync_share
FROM summed s
CROSS JOIN budget_grid g
