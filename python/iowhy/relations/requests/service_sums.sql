-- title: How many of the command's reads or writes of data on one device took as long as that
-- uses: block_requests
-- Of all that are in scope, those too that are seen again on a device below.
SELECT dev, op, owner_dev, complete_ns - coalesce(issue_ns, queue_ns) AS service_ns, count(*) AS requests
FROM block_requests
WHERE in_scope AND op IN ('read', 'write') AND bytes > 0
GROUP BY dev, op, owner_dev, complete_ns - coalesce(issue_ns, queue_ns)
