-- title: A device whose cache may be emptied for who waits on a filesystem
-- uses: device_layers, devices, filesystems, request_places, served_filesystems
-- filtered as: nothing
-- kept: table
-- A filesystem's flushes are of the disks that it and its log are on, by its mount, by the devices that it has, by requests of its
-- files, and by what those are on in turn (four layers); and of devices that no filesystem in use is known to be or to have its log on,
-- which may be another device of the same filesystem, or hold its log if not known. The device of another filesystem is not one of them. A filesystem that is not in here is one of which no
-- device is known: it may be any.
-- column dev: the filesystem, or a block device that is used as such, id
-- column disk_dev: block device; each filesystem has a row with NULL as well, id
WITH layers AS (
    SELECT dev, below_dev FROM device_layers
    UNION
    SELECT dev, below_dev FROM devices WHERE below_dev IS NOT NULL
), mounted AS (
    SELECT dev, disk_dev FROM filesystems WHERE disk_dev IS NOT NULL
    UNION
    SELECT dev, log_dev FROM filesystems WHERE log_dev IS NOT NULL
    UNION
    SELECT dev, unnest(disk_devs) FROM filesystems
), upper AS (
    SELECT dev, disk_dev FROM mounted
    UNION
    SELECT owner_dev, dev FROM request_places WHERE owner_dev IS NOT NULL
    UNION
    SELECT dev, dev FROM devices
), second AS (
    SELECT u.dev, l.below_dev AS disk_dev FROM upper u JOIN layers l ON l.dev = u.disk_dev
), third AS (
    SELECT s.dev, l.below_dev AS disk_dev FROM second s JOIN layers l ON l.dev = s.disk_dev
), disks AS (
    SELECT dev, disk_dev FROM upper
    UNION
    SELECT dev, disk_dev FROM second
    UNION
    SELECT dev, disk_dev FROM third
    UNION
    SELECT t.dev, l.below_dev FROM third t JOIN layers l ON l.dev = t.disk_dev
), known AS (
    SELECT dev FROM disks
    UNION
    SELECT dev FROM filesystems WHERE kind IN ('tmpfs', 'ramfs')
    UNION
    SELECT dev FROM served_filesystems
), unclaimed AS (
    SELECT DISTINCT dev AS disk_dev
    FROM request_places
    WHERE dev NOT IN (SELECT d.disk_dev FROM disks d WHERE d.dev IN (SELECT dev FROM mounted))
)
SELECT dev, disk_dev FROM disks
UNION
SELECT k.dev, u.disk_dev FROM known k CROSS JOIN unclaimed u
UNION
SELECT dev, NULL FROM known
