-- title: A request as a sum of one
-- uses: block_requests
-- It replaces request_sums where requests are few. The columns are those of request_sums.
-- column requests: 1, count
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
