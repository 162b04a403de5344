-- title: The sums of the requests of one device, by what they do, whose they are and what they are of
-- kept: table
-- As the recorder summed them up; else one pass over all requests.
-- column dev: block device, id
-- column op: read, write, flush, discard, zone or other, text
-- column in_scope: submitted by the command or of a file that it touched; NULL for shared work, bool
-- column owner_kind: data, journal, metadata, flush, swap, device or unknown, text
-- column owner_dev: filesystem of the file, id
-- column owner_ino: inode of the file, id
-- column empty: writes of no bytes, which ask for a flush, bool
-- column requests: requests, count
-- column bytes: their lengths, bytes
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- column unseen: of the requests, those whose completion was not seen, count
-- column failed: of the requests, those that ended in an error, count
-- when request_sums
SELECT
    dev, op, in_scope, owner_kind, owner_dev, owner_ino, empty, requests, bytes, time_ns, unseen, failed
FROM request_sums
-- else
SELECT
    dev,
    op,
    in_scope,
    coalesce(owner_kind, 'unknown') AS owner_kind,
    owner_dev,
    owner_ino,
    op = 'write' AND bytes = 0 AS empty,
    count(*) AS requests,
    sum(bytes) AS bytes,
    sum(complete_ns - queue_ns) AS time_ns,
    count(*) - count(complete_ns) AS unseen,
    sum(CASE WHEN error <> 0 THEN 1 ELSE 0 END) AS failed
FROM block_requests
GROUP BY dev, op, in_scope, coalesce(owner_kind, 'unknown'), owner_dev, owner_ino, op = 'write' AND bytes = 0
