-- title: A device that the command wrote to, by its requests or to a filesystem on it by its calls
-- uses: call_kinds, calls_by_file, filesystems, request_sums
-- filtered as: nothing
-- Shared work on other devices (journal, metadata, flush) is not of the command. A filesystem is on the device of its log, and on each of several that it has, too.
-- column dev: block device, id
WITH places AS (
    SELECT dev, disk_dev FROM filesystems WHERE disk_dev IS NOT NULL
    UNION
    SELECT dev, log_dev FROM filesystems WHERE log_dev IS NOT NULL
    UNION
    SELECT dev, unnest(disk_devs) FROM filesystems
)
SELECT dev FROM request_sums WHERE in_scope AND op = 'write'
UNION
SELECT p.disk_dev
FROM places p
JOIN calls_by_file s ON s.dev = p.dev
JOIN call_kinds k ON k.name = s.name
WHERE k.kind IN ('write', 'copy', 'sync', 'change') AND s.name <> 'close' AND s.calls > s.errors + s.unfinished
