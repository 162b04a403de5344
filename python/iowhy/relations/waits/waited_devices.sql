-- title: A device that the command waits for: what its waits' files are on
-- uses: devices, filesystems, request_places, served_filesystems, storage_sleep_sums, wait_classes, wait_totals
-- filtered as: nothing
-- kept: table
-- The device of a wait is that of the filesystem of its file, for a commit that of its log, and where that shows no requests (a mapped
-- device) what is below. What a process (FUSE) or a server serves is not a device. A wait without a file, on a filesystem without a disk of its
-- own (tmpfs), or on one of several (btrfs) has none, nor has one for what is in flight of a ring; sync(2)
-- waits for every filesystem.
-- column dev: block device; NULL where the file says none, id
-- column everywhere: it is sync(2), bool
-- column waited_ns: waits for storage, summed, ns
WITH one_disk AS (
    SELECT dev, CASE WHEN coalesce(array_length(disk_devs), 0) = 0 THEN disk_dev END AS disk_dev, log_dev FROM filesystems
), places AS (
    SELECT dev, max(disk_dev) AS disk_dev, false AS commits FROM one_disk GROUP BY dev
    UNION ALL
    SELECT dev, max(coalesce(log_dev, disk_dev)) AS disk_dev, true AS commits FROM one_disk GROUP BY dev
)
SELECT
    CASE
        WHEN f.disk_dev IN (SELECT dev FROM request_places) THEN f.disk_dev
        ELSE coalesce(d.below_dev, f.disk_dev)
    END AS dev,
    coalesce(w.syscall = 'sync', false) AS everywhere,
    sum(w.total_ns) AS waited_ns
FROM wait_totals w
JOIN wait_classes c
    ON c.reason IS NOT DISTINCT FROM w.reason
    AND c.syscall IS NOT DISTINCT FROM w.syscall
    AND c.io IS NOT DISTINCT FROM w.io
LEFT JOIN places f ON f.dev = w.dev AND f.commits = coalesce(w.reason IN ('journal_commit', 'log_force'), false)
LEFT JOIN served_filesystems u ON u.dev = w.dev
LEFT JOIN (SELECT dev, max(below_dev) AS below_dev FROM devices GROUP BY dev) d ON d.dev = f.disk_dev
WHERE u.dev IS NULL
    AND w.reason IS DISTINCT FROM 'fuse' AND w.reason IS DISTINCT FROM 'network_filesystem'
    AND c.class IN ('read', 'write', 'sync', 'throttled', 'collect')
GROUP BY 1, 2
UNION ALL
SELECT CAST(NULL AS BIGINT), false, sum(sleeping_ns) FROM storage_sleep_sums WHERE class = 'collect' HAVING count(*) > 0
