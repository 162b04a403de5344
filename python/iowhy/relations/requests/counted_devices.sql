-- title: Whether requests on one device, of files of one filesystem, count
-- uses: device_layers, devices, filesystems, request_places
-- filtered as: nothing
-- kept: table
-- A request on a loop device reaches the disk under it as another request; with direct I/O even the
-- pages, and so the owner, are the same; one on LVM, dm-crypt or an array is carried out by requests on each
-- layer below, and a mirror's writes by several. It counts on the disk of its owner's filesystem where
-- requests were seen there, on each of several that the filesystem itself spans (btrfs); without an owner, on devices that
-- are below no other device in use.
-- column dev: block device, id
-- column owner_dev: filesystem; NULL for requests that no file owns, id
-- column counted: false for what is seen again on a device below, bool
SELECT
    q.dev,
    q.owner_dev,
    coalesce(nullif(m.dev IS NOT NULL, false), f.disk_dev = q.dev, nullif(q.owner_dev = q.dev, false), b.dev IS NULL) AS counted
FROM request_places q
LEFT JOIN (
    SELECT dev, max(disk_dev) AS disk_dev
    FROM filesystems
    WHERE disk_dev IN (SELECT dev FROM request_places)
    GROUP BY dev
) f ON f.dev = q.owner_dev
LEFT JOIN (
    SELECT DISTINCT dev, disk_dev FROM (SELECT dev, unnest(disk_devs) AS disk_dev FROM filesystems) AS d
) m ON m.dev = q.owner_dev AND m.disk_dev = q.dev
LEFT JOIN (
    SELECT below_dev AS dev FROM devices WHERE below_dev IS NOT NULL AND dev IN (SELECT dev FROM request_places)
    UNION
    SELECT below_dev FROM device_layers WHERE dev IN (SELECT dev FROM request_places)
) b ON b.dev = q.dev
