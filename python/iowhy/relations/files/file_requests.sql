-- title: The command's requests of one file on one device
-- uses: jump_totals
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
    CAST(sum(requests) AS BIGINT) AS requests,
    CAST(sum(bytes) AS BIGINT) AS bytes,
    CAST(sum(time_ns) AS BIGINT) AS time_ns,
    CAST(sum(direct_bytes) AS BIGINT) AS direct_bytes,
    CAST(sum(jumps) AS BIGINT) AS jumps,
    CAST(sum(steps) AS BIGINT) AS steps
FROM jump_totals
WHERE owner_ino IS NOT NULL AND owner_dev IS NOT NULL
GROUP BY dev, owner_dev, owner_ino
