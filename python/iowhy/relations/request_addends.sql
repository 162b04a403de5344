-- title: What sums of requests are made of: sums by device, by what they do, whose they are and what they are of, or single requests
-- What sums requests up in another way reads these. Where the recorder summed nothing up and requests are few they are not grouped first.
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
-- when not request_sums and few block_requests
SELECT
    dev,
    op,
    in_scope,
    coalesce(owner_kind, 'unknown') AS owner_kind,
    owner_dev,
    owner_ino,
    op = 'write' AND bytes = 0 AS empty,
    1 AS requests,
    bytes,
    complete_ns - queue_ns AS time_ns,
    CASE WHEN complete_ns IS NULL THEN 1 ELSE 0 END AS unseen,
    CASE WHEN error <> 0 THEN 1 ELSE 0 END AS failed
FROM block_requests
-- else
SELECT
    dev, op, in_scope, owner_kind, owner_dev, owner_ino, empty, requests, bytes, time_ns, unseen, failed
FROM request_groups
