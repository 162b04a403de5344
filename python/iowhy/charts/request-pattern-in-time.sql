-- title: Where requests go
-- question: How often did each device jump in the chosen time?
-- report: request-pattern
-- draws: narrowed
-- place: 247
-- needs: block_requests
-- By when they were issued to the driver.
-- column device: block device, text
-- column op: read or write, text
-- column whose: command, shared (journal, metadata) or others, text
-- column requests: requests with a place on the device, count
-- column bytes: their bytes, bytes
-- column jumps: of these, not where the one that the device was sent before ended, count
-- column backward: of the jumps, towards lower addresses, count
SELECT
    q.sent_ns AS ts_ns,
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)) AS device,
    q.op, q.whose, 1 AS requests, q.bytes,
    CASE WHEN q.seek_bytes <> 0 THEN 1 ELSE 0 END AS jumps,
    CASE WHEN q.seek_bytes < 0 THEN 1 ELSE 0 END AS backward
FROM request_sequence q
LEFT JOIN devices d ON d.dev = q.dev
