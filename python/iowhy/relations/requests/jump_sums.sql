-- title: The reads or writes of data in scope of one file on one device, and how many of them jump
-- uses: _jumps
-- kept: table
-- Jumps are those of _jumps: on a device of which not all of them count, they are not those of command_requests.
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
FROM _jumps
GROUP BY dev, op, owner_dev, owner_ino
