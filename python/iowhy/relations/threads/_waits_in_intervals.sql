-- title: What waits of one kind take of one interval of their thread
-- uses: _divided_waits, _waits_in_cells, interval_cells, thread_intervals, wait_classes
-- kept: table
-- As the recorder divided them (_divided_waits), else by cells. Waits that collect asynchronous I/O are distinguished by cells, in _waits_in_cells.
-- column row_id: number of the interval in thread_intervals, number
-- column key: number of reason and call in wait_classes, number
-- column parts: length in sixteenths of a nanosecond, number
SELECT t.row_id, w.key, w.parts
FROM _divided_waits w
JOIN thread_intervals t ON t.tid = w.tid AND t.ts_ns = w.ts_ns
WHERE t.row_id IN (SELECT row_id FROM interval_cells)
UNION ALL
SELECT t.row_id, f.key, CAST(sum(f.parts) AS BIGINT)
FROM _waits_in_cells f
JOIN interval_cells t ON t.part_id = f.part_id
JOIN wait_classes c ON c.key = f.key
WHERE c.class <> 'collect'
GROUP BY t.row_id, f.key
