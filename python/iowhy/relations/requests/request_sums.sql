-- title: The sums of the requests of one device, by what they do, whose they are and what they are of
-- uses: block_requests
-- kept: table
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
