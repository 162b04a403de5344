-- title: read from the device
-- unit: bytes
-- sensor: block_requests
-- state: what memory held of the files before
-- classes: read
SELECT coalesce(sum(bytes), 0) FROM command_data_requests WHERE op = 'read'
-- by file
SELECT owner_dev AS dev, owner_ino AS ino, sum(bytes) AS value FROM command_data_requests WHERE op = 'read' GROUP BY owner_dev, owner_ino
