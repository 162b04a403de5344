-- title: A device that the command wrote to, by its requests or to a filesystem on it by its calls
-- filtered as: nothing
-- Shared work on other devices (journal, metadata, flush) is not of the command.
-- column dev: block device, id
SELECT dev FROM main.request_addends WHERE in_scope AND op = 'write'
UNION
SELECT f.disk_dev
FROM main.filesystems f
JOIN main.call_addends s ON s.dev = f.dev
JOIN call_kinds k ON k.name = s.name
WHERE k.kind IN ('write', 'copy', 'sync', 'change') AND s.name <> 'close' AND s.calls > s.errors + s.unfinished
    AND f.disk_dev IS NOT NULL
