-- title: What waits of one kind take of one interval of their thread, as the recorder divided them
-- uses: interval_waits, recording, threads, wait_classes
-- filtered as: nothing
-- Those that _waits_to_divide has are left out.
-- column tid: thread, id
-- column ts_ns: start of the interval, ns
-- column key: number of reason and call in wait_classes, number
-- column parts: length in sixteenths of a nanosecond, number
WITH told AS (
    SELECT
        i.tid, i.ts_ns, i.reason, i.io,
        CASE WHEN i.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE i.syscall END AS syscall,
        16 * CAST(sum(i.waited_ns) AS BIGINT) AS parts
    FROM interval_waits i
    CROSS JOIN recording r
    LEFT JOIN (SELECT DISTINCT tid FROM threads WHERE comm LIKE 'iou-wrk-%') u ON u.tid = i.tid
    WHERE r.has_divided_waits AND i.reason <> 'metadata_lock'
    GROUP BY 1, 2, 3, 4, 5
)
SELECT w.tid, w.ts_ns, c.key, w.parts
FROM told w
JOIN wait_classes c
    ON c.reason = w.reason AND c.syscall IS NOT DISTINCT FROM w.syscall AND c.io IS NOT DISTINCT FROM w.io
WHERE c.class <> 'collect'
