-- title: A thread's time in one interval that is neither on a CPU nor ready for one, by class
-- uses: _waits_by_interval, process_io_direction, thread_intervals
-- kept: table
-- The waits in an interval are scaled down to what the scheduler counted if they are more (clocks are
-- read at other points); uninterruptible sleep without a wait is unexplained. From /proc alone it is
-- split by the bytes that the process moved. Sleep without a wait for storage is idle.
-- column row_id: number of the interval in thread_intervals, number
-- column class: key of the class, text
-- column syscall: call, text
-- column reason: reason, text
-- column parts: length in sixteenths of a nanosecond, number
WITH seen AS (
    SELECT
        row_id,
        CAST(sum(CASE WHEN asleep THEN 0 ELSE parts END) AS BIGINT) AS blocked_parts,
        CAST(sum(CASE WHEN asleep THEN parts ELSE 0 END) AS BIGINT) AS asleep_parts
    FROM _waits_by_interval
    GROUP BY row_id
), blocked AS (
    SELECT
        t.*,
        coalesce(s.blocked_parts, 0) AS seen_blocked,
        coalesce(s.asleep_parts, 0) AS seen_asleep,
        least(
            coalesce(s.blocked_parts, 0),
            16 * CASE WHEN t.knows_blocked THEN t.blocked_ns ELSE t.unseen_ns END
        ) AS blocked_parts
    FROM thread_intervals t
    LEFT JOIN seen s ON s.row_id = t.row_id
), unseen AS (
    SELECT
        *,
        16 * unseen_ns - CASE WHEN knows_blocked THEN 0 ELSE blocked_parts END AS unseen_parts
    FROM blocked
), fitted AS (
    SELECT
        *,
        least(seen_asleep, CASE WHEN knows_sleeping THEN 16 * sleeping_ns ELSE unseen_parts END)
            AS asleep_parts
    FROM unseen
), rest AS (
    SELECT
        row_id, tgid,
        greatest(16 * blocked_ns - blocked_parts, 0) AS blocked_parts,
        greatest(16 * sleeping_ns - asleep_parts, 0) AS idle_parts,
        unseen_parts - CASE WHEN knows_sleeping THEN 0 ELSE asleep_parts END AS unseen_parts
    FROM fitted
)
SELECT
    w.row_id, w.class, w.syscall, w.reason,
    CASE
        WHEN NOT w.asleep AND f.blocked_parts < f.seen_blocked
            THEN CAST(floor(w.parts * (f.blocked_parts / f.seen_blocked)) AS BIGINT)
        WHEN w.asleep AND f.asleep_parts < f.seen_asleep
            THEN CAST(floor(w.parts * (f.asleep_parts / f.seen_asleep)) AS BIGINT)
        ELSE w.parts
    END AS parts
FROM _waits_by_interval w
JOIN fitted f ON f.row_id = w.row_id
UNION ALL
SELECT r.row_id, 'unexplained', NULL, 'uninterruptible wait of unknown reason', r.blocked_parts
FROM rest r
LEFT JOIN process_io_direction b ON b.tgid = r.tgid
WHERE r.blocked_parts > 0 AND b.read_share IS NULL
UNION ALL
SELECT r.row_id, 'read', NULL, 'split by the bytes of /proc/PID/io',
    CAST(floor(r.blocked_parts * b.read_share) AS BIGINT)
FROM rest r
JOIN process_io_direction b ON b.tgid = r.tgid
WHERE r.blocked_parts > 0 AND b.read_share > 0
UNION ALL
SELECT r.row_id, 'write', NULL, 'split by the bytes of /proc/PID/io',
    r.blocked_parts - CAST(floor(r.blocked_parts * b.read_share) AS BIGINT)
FROM rest r
JOIN process_io_direction b ON b.tgid = r.tgid
WHERE r.blocked_parts > 0 AND b.read_share < 1
UNION ALL
SELECT row_id, 'unexplained', NULL, 'no state seen', unseen_parts FROM rest WHERE unseen_parts > 0
UNION ALL
SELECT row_id, 'idle', NULL, NULL, idle_parts FROM rest WHERE idle_parts > 0
