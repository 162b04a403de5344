-- title: The requests of a device, by direction, whose they are and what they are of
-- uses: counted_devices, request_sums
-- kept: table
-- column dev: block device, id
-- column op: read, write, flush, discard, zone or other, text
-- column whose: command, shared or others, text
-- column owner_kind: data, journal, metadata, flush, swap, device or unknown, text
-- column owner_dev: filesystem of the file, id
-- column owner_ino: inode of the file, id
-- column counted: false for what is seen again on a device below, bool
-- column requests: requests, count
-- column bytes: their lengths, bytes
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- column unseen: of the requests, those whose completion was not seen, count
-- column failed: of the requests, those that ended in an error, count
SELECT
    g.dev,
    g.op,
    CASE WHEN g.in_scope IS NULL THEN 'shared' WHEN g.in_scope THEN 'command' ELSE 'others' END AS whose,
    g.owner_kind,
    g.owner_dev,
    g.owner_ino,
    c.counted,
    g.requests,
    g.bytes,
    g.time_ns,
    g.unseen,
    g.failed
FROM request_sums g
JOIN counted_devices c ON c.dev = g.dev AND c.owner_dev IS NOT DISTINCT FROM g.owner_dev
-- A write of nothing asks for a flush, which is there as its own request.
WHERE NOT g.empty
