-- title: A block request, and whether it counts
-- filtered as: block_requests
-- A request on a loop device reaches the disk under it as another request; with direct I/O even the
-- pages, and so the owner, are the same. It counts on the disk of its owner's filesystem; without an
-- owner, on devices that lie below no other device in use. The other columns are those of
-- block_requests.
-- column counted: false for what is seen again on a device below, bool
SELECT
    q.*,
    coalesce(f.disk_dev = q.dev, nullif(q.owner_dev = q.dev, false), b.dev IS NULL) AS counted
FROM main.block_requests q
LEFT JOIN (
    SELECT dev, max(disk_dev) AS disk_dev FROM main.filesystems GROUP BY dev
) f ON f.dev = q.owner_dev
LEFT JOIN (
    SELECT DISTINCT below_dev AS dev
    FROM main.devices
    WHERE below_dev IS NOT NULL AND dev IN (SELECT dev FROM main.block_requests)
) b ON b.dev = q.dev
