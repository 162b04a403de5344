-- title: written to the device
-- unit: bytes
-- sensor: block_requests
-- classes: write, sync
SELECT coalesce(sum(bytes), 0) FROM command_data_requests WHERE op = 'write'
-- by file
SELECT owner_dev AS dev, owner_ino AS ino, sum(bytes) AS value FROM command_data_requests WHERE op = 'write' GROUP BY owner_dev, owner_ino
