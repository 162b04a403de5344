-- title: The command's requests of one file on one device
-- kept: table
-- column dev: block device, id
-- column owner_dev: filesystem of the file, id
-- column owner_ino: inode of the file, id
-- column requests: requests, count
-- column bytes: their lengths, bytes
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- column direct_bytes: of the bytes, those of direct I/O, bytes
-- column jumps: requests that jump (see command_requests), count
-- column steps: requests of which it is known whether they jump, count
SELECT
    dev,
    owner_dev,
    owner_ino,
    count(*) AS requests,
    sum(bytes) AS bytes,
    sum(complete_ns - queue_ns) AS time_ns,
    sum(CASE WHEN owner_page IS NULL THEN bytes ELSE 0 END) AS direct_bytes,
    count(*) FILTER (WHERE jump_bytes <> 0) AS jumps,
    count(jump_bytes) AS steps
FROM command_requests
WHERE owner_ino IS NOT NULL AND owner_dev IS NOT NULL
GROUP BY dev, owner_dev, owner_ino
