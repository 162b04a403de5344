-- title: The command's requests of one direction and file on one device, and how many of them jump
-- uses: _mixed_jumps, counted_devices, jump_sums
-- kept: table
-- column dev: block device, id
-- column op: read or write, text
-- column owner_dev: filesystem of the file, id
-- column owner_ino: inode of the file, id
-- column requests: requests, count
-- column bytes: their lengths, bytes
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- column direct_bytes: of the bytes, those of direct I/O, bytes
-- column jumps: requests that jump (see command_requests), count
-- column steps: requests of which it is known whether they jump, count
SELECT
    s.dev, s.op, s.owner_dev, s.owner_ino, s.requests, s.bytes, s.time_ns, s.direct_bytes, s.jumps, s.steps
FROM jump_sums s
JOIN (SELECT dev FROM counted_devices GROUP BY dev HAVING bool_and(counted)) c ON c.dev = s.dev
UNION ALL
SELECT
    dev,
    op,
    owner_dev,
    owner_ino,
    count(*),
    sum(bytes),
    sum(complete_ns - queue_ns),
    sum(CASE WHEN owner_page IS NULL THEN bytes ELSE 0 END),
    count(CASE WHEN jump_bytes <> 0 THEN 1 END),
    count(jump_bytes)
FROM _mixed_jumps
GROUP BY dev, op, owner_dev, owner_ino
