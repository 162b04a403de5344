-- title: A block request: whose it is, and whether it counts
-- uses: block_requests, counted_devices
-- filtered as: block_requests
-- What counts is in counted_devices. The other columns are those of block_requests.
-- column sent_ns: when it was handed to the driver, else queued, ns
-- column whose: command, shared (journal, metadata, flush by a kernel thread) or others, text
-- column counted: false for what is seen again on a device below, bool
SELECT
    q.*,
    coalesce(q.issue_ns, q.queue_ns) AS sent_ns,
    CASE WHEN q.in_scope IS NULL THEN 'shared' WHEN q.in_scope THEN 'command' ELSE 'others' END
        AS whose,
    c.counted
FROM block_requests q
JOIN counted_devices c ON c.dev = q.dev AND c.owner_dev IS NOT DISTINCT FROM q.owner_dev
