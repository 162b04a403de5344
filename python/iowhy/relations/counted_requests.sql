-- title: A block request: whose it is, and whether it counts
-- filtered as: block_requests
-- A request on a loop device reaches the disk under it as another request; with direct I/O even the
-- pages, and so the owner, are the same. It counts on the disk of its owner's filesystem where
-- requests were seen there (a mapped device, LVM's, shows none); without an owner, on devices that
-- lie below no other device in use. The other columns are those of block_requests.
-- column sent_ns: when it was handed to the driver, else queued, ns
-- column whose: command, shared (journal, metadata, flush by a kernel thread) or others, text
-- column counted: false for what is seen again on a device below, bool
SELECT
    q.*,
    coalesce(q.issue_ns, q.queue_ns) AS sent_ns,
    CASE WHEN q.in_scope IS NULL THEN 'shared' WHEN q.in_scope THEN 'command' ELSE 'others' END
        AS whose,
    coalesce(f.disk_dev = q.dev, nullif(q.owner_dev = q.dev, false), b.dev IS NULL) AS counted
FROM main.block_requests q
LEFT JOIN (
    SELECT dev, max(disk_dev) AS disk_dev
    FROM main.filesystems
    WHERE disk_dev IN (SELECT dev FROM main.block_requests)
    GROUP BY dev
) f ON f.dev = q.owner_dev
LEFT JOIN (
    SELECT DISTINCT below_dev AS dev
    FROM main.devices
    WHERE below_dev IS NOT NULL AND dev IN (SELECT dev FROM main.block_requests)
) b ON b.dev = q.dev
