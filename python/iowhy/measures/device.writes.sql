-- title: write requests
-- unit: count
-- sensor: block_requests
-- classes: write, sync
SELECT count(*) FROM command_data_requests WHERE op = 'write'
-- by file
SELECT owner_dev AS dev, owner_ino AS ino, count(*) AS value FROM command_data_requests WHERE op = 'write' GROUP BY owner_dev, owner_ino
