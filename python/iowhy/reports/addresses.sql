-- title: Addresses over time
-- question: Where on the device did each request go, and when?
-- stands in for: seekwatcher, blktrace plots
-- in order of: data_requests.sent_ns
-- about: at_s op address_bytes bytes seek_bytes path
-- column at_s: when it was issued, after the start of the recording, s
-- column device: block device, text
-- column op: read or write, text
-- column whose: command, shared (journal, metadata) or others, text
-- column address_bytes: place on the device, bytes
-- column bytes: length, bytes
-- column seek_bytes: distance from the end of the device's previous request, anybody's, bytes
-- column path: file that owns it, text
-- column object: of a database's file, its table, index or log, text
SELECT
    (q.sent_ns - r.start_ns) / 1e9 AS at_s,
    coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR))
        AS device,
    q.op,
    q.whose,
    q.sector * 512 AS address_bytes,
    q.bytes,
    q.seek_bytes,
    p.path,
    o.object
FROM request_sequence q
CROSS JOIN recording r
LEFT JOIN devices d ON d.dev = q.dev
LEFT JOIN named_files p ON p.dev = q.owner_dev AND p.ino = q.owner_ino
LEFT JOIN database_objects o ON o.path = p.path
ORDER BY q.sent_ns, device, address_bytes
