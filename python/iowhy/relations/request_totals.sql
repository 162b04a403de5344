-- title: The requests of a device, by direction, whose they are and what they are of
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
    dev,
    op,
    whose,
    coalesce(owner_kind, 'unknown') AS owner_kind,
    owner_dev,
    owner_ino,
    counted,
    count(*) AS requests,
    sum(bytes) AS bytes,
    sum(complete_ns - queue_ns) AS time_ns,
    count(*) FILTER (WHERE complete_ns IS NULL) AS unseen,
    count(*) FILTER (WHERE error <> 0) AS failed
FROM counted_requests
-- A write of nothing asks for a flush, which is there as a request of its own.
WHERE op <> 'write' OR bytes > 0
GROUP BY dev, op, whose, coalesce(owner_kind, 'unknown'), owner_dev, owner_ino, counted
