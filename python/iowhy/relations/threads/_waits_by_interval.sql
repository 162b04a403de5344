-- title: Waits, and sleep for storage, of one class, reason and call in one interval of a thread
-- uses: _flights_collected, _sleeps_in_cells, _waits_in_cells, _waits_in_intervals, interval_cells, recording, wait_classes
-- kept: table
-- Collecting asynchronous I/O is a wait to read, to write or for sync as what is in flight in the cell is:
-- uninterruptible those of the process, by their time in flight; interruptible those of the ring that it collects from,
-- only while anything is, and for all threads that collect from it together not more than the own time of what is in flight.
-- column row_id: number of the interval in thread_intervals, number
-- column asleep: interruptible sleep, else uninterruptible, bool
-- column class: key of the class, text
-- column syscall: call, NULL outside any, text
-- column reason: reason, NULL if none was recorded, text
-- column parts: length in sixteenths of a nanosecond, number
WITH blocked AS (
    SELECT f.part_id, c.class, c.syscall, c.reason, f.parts
    FROM _waits_in_cells f
    JOIN wait_classes c ON c.key = f.key
    WHERE c.class = 'collect'
), sleeping AS (
    SELECT t.part_id, t.tgid, t.cell, f.ring, (t.end_ns - t.begin_ns) * 16 AS own_parts, sum(f.parts) AS parts
    FROM _sleeps_in_cells f
    JOIN interval_cells t ON t.part_id = f.part_id
    WHERE f.class = 'collect'
    GROUP BY t.part_id, t.tgid, t.cell, f.ring, t.begin_ns, t.end_ns
), while_busy AS (
    SELECT
        s.part_id, s.tgid, s.cell, s.ring, s.parts, r.flight_ns, r.read_share, r.sync_share,
        least(s.parts, CAST(floor(s.own_parts * r.busy_share) AS BIGINT)) AS busy_parts
    FROM sleeping s
    JOIN _flights_collected r
        ON r.tgid = s.tgid AND r.cell = s.cell AND r.ring IS NOT DISTINCT FROM s.ring
), by_ring AS (
    SELECT tgid, cell, ring, sum(busy_parts) AS busy_parts FROM while_busy GROUP BY tgid, cell, ring
), collected AS (
    SELECT
        f.part_id, f.syscall, f.parts, w.read_share, w.sync_share,
        floor(
            f.parts * (w.busy_parts / w.parts) * least(1.0, w.flight_ns * 16 / p.busy_parts)
        ) AS busy_parts
    FROM _sleeps_in_cells f
    JOIN while_busy w ON w.part_id = f.part_id AND w.ring IS NOT DISTINCT FROM f.ring
    JOIN by_ring p
        ON p.tgid = w.tgid AND p.cell = w.cell AND p.ring IS NOT DISTINCT FROM w.ring
    WHERE f.class = 'collect' AND w.busy_parts > 0
), located AS (
    SELECT b.part_id, false AS asleep, 'read' AS class, b.syscall, b.reason, floor(b.parts * coalesce(r.read_share, 1)) AS parts
    FROM blocked b
    JOIN interval_cells t ON t.part_id = b.part_id
    LEFT JOIN _flights_collected r ON r.tgid = t.tgid AND r.cell = t.cell AND r.ring IS NULL
    UNION ALL
    SELECT
        b.part_id, false, x.class, b.syscall, b.reason,
        CASE x.class
            WHEN 'sync' THEN floor(b.parts * r.sync_share)
            ELSE b.parts - floor(b.parts * r.read_share) - floor(b.parts * r.sync_share)
        END
    FROM blocked b
    JOIN interval_cells t ON t.part_id = b.part_id
    JOIN _flights_collected r ON r.tgid = t.tgid AND r.cell = t.cell AND r.ring IS NULL
    CROSS JOIN (SELECT 'sync' AS class UNION ALL SELECT 'write') AS x
    UNION ALL
    SELECT part_id, true, class, syscall, NULL, parts FROM _sleeps_in_cells WHERE class <> 'collect'
    UNION ALL
    SELECT part_id, true, 'read', syscall, NULL, floor(busy_parts * read_share) FROM collected
    UNION ALL
    SELECT part_id, true, 'sync', syscall, NULL, floor(busy_parts * sync_share) FROM collected
    UNION ALL
    SELECT part_id, true, 'write', syscall, NULL, busy_parts - floor(busy_parts * read_share) - floor(busy_parts * sync_share)
    FROM collected
    UNION ALL
    SELECT f.part_id, true, 'unexplained', f.syscall, 'asynchronous I/O, its requests were not recorded',
        f.parts
    FROM _sleeps_in_cells f
    JOIN interval_cells t ON t.part_id = f.part_id
    CROSS JOIN recording r
    WHERE f.class = 'collect' AND NOT r.ran_block_requests AND t.tgid NOT IN (SELECT tgid FROM _flights_collected)
), kinds AS (
    SELECT class, syscall, reason, min(key) AS kind FROM wait_classes GROUP BY class, syscall, reason
), told AS (
    -- Grouped by numbers: with their texts these groups, of long recordings, do not fit into memory.
    SELECT w.row_id, k.kind, CAST(sum(w.parts) AS BIGINT) AS parts
    FROM _waits_in_intervals w
    JOIN wait_classes c ON c.key = w.key
    JOIN kinds k
        ON k.class = c.class AND k.syscall IS NOT DISTINCT FROM c.syscall AND k.reason IS NOT DISTINCT FROM c.reason
    WHERE w.parts > 0
    GROUP BY w.row_id, k.kind
)
SELECT t.row_id, l.asleep, l.class, l.syscall, l.reason, CAST(sum(l.parts) AS BIGINT) AS parts
FROM located l
JOIN interval_cells t ON t.part_id = l.part_id
WHERE l.parts > 0
GROUP BY t.row_id, l.asleep, l.class, l.syscall, l.reason
UNION ALL
-- Calls that collect are not in both: their uninterruptible waits have their own class until they are located.
SELECT t.row_id, false, k.class, k.syscall, k.reason, t.parts
FROM told t
JOIN kinds k ON k.kind = t.kind
