-- title: The command's requests of one direction and file on one device, and how many of them jump
-- kept: table
-- As the recorder summed them up, on each device of which all of them count, or none (counted_devices); else by the rows.
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
-- when jump_sums
WITH places AS (
    SELECT s.dev, bool_and(c.counted) AS every_one, bool_or(c.counted) AS any_one
    FROM jump_sums s
    JOIN counted_devices c ON c.dev = s.dev AND c.owner_dev IS NOT DISTINCT FROM s.owner_dev
    GROUP BY s.dev
), in_order AS (
    -- Jumps as in command_requests, of the few requests alone of which the recorder could not know that they do not count.
    SELECT
        *,
        sector * 512 - lag(sector * 512 + bytes) OVER (PARTITION BY dev, op ORDER BY sent_ns, sector)
            AS jump_bytes
    FROM own_requests
    WHERE dev IN (SELECT dev FROM places WHERE any_one AND NOT every_one)
)
SELECT
    s.dev, s.op, s.owner_dev, s.owner_ino, s.requests, s.bytes, s.time_ns, s.direct_bytes, s.jumps, s.steps
FROM jump_sums s
JOIN places p ON p.dev = s.dev
WHERE p.every_one
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
FROM in_order
GROUP BY dev, op, owner_dev, owner_ino
-- else
SELECT
    dev,
    op,
    owner_dev,
    owner_ino,
    count(*) AS requests,
    sum(bytes) AS bytes,
    sum(complete_ns - queue_ns) AS time_ns,
    sum(CASE WHEN owner_page IS NULL THEN bytes ELSE 0 END) AS direct_bytes,
    count(CASE WHEN jump_bytes <> 0 THEN 1 END) AS jumps,
    count(jump_bytes) AS steps
FROM command_requests
GROUP BY dev, op, owner_dev, owner_ino
