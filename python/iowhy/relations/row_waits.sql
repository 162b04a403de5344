-- title: What waits of one kind take of one interval of their thread
-- kept: table
-- As the recorder divided them; else by the rows. Waits that collect asynchronous I/O are told apart by cells, in found_waits.
-- column row_id: number of the interval in thread_rows, number
-- column key: number of reason and call in wait_classes, number
-- column parts: length in sixteenths of a nanosecond, number
-- when interval_waits and wait_sums
WITH told AS (
    SELECT
        i.tid, i.ts_ns, i.reason, i.io,
        CASE WHEN i.syscall IS NULL AND u.tid IS NOT NULL THEN 'io_uring worker' ELSE i.syscall END AS syscall,
        16 * CAST(sum(i.waited_ns) AS BIGINT) AS parts
    FROM interval_waits i
    LEFT JOIN (SELECT DISTINCT tid FROM main.threads WHERE comm LIKE 'iou-wrk-%') u ON u.tid = i.tid
    WHERE i.reason <> 'metadata_lock'
    GROUP BY 1, 2, 3, 4, 5
)
SELECT t.row_id, c.key, w.parts
FROM told w
JOIN main.wait_classes c
    ON c.reason = w.reason AND c.syscall IS NOT DISTINCT FROM w.syscall AND c.io IS NOT DISTINCT FROM w.io
JOIN thread_rows t ON t.tid = w.tid AND t.ts_ns = w.ts_ns
WHERE c.class <> 'collect' AND t.row_id IN (SELECT row_id FROM thread_cells)
UNION ALL
SELECT t.row_id, f.key, CAST(sum(f.parts) AS BIGINT)
FROM found_waits f
JOIN thread_cells t ON t.part_id = f.part_id
JOIN main.wait_classes c ON c.key = f.key
WHERE c.class <> 'collect'
GROUP BY t.row_id, f.key
-- else
SELECT t.row_id, f.key, CAST(sum(f.parts) AS BIGINT) AS parts
FROM found_waits f
JOIN thread_cells t ON t.part_id = f.part_id
JOIN main.wait_classes c ON c.key = f.key
WHERE c.class <> 'collect'
GROUP BY t.row_id, f.key
