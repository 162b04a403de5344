-- title: read requests
-- unit: count
-- sensor: block_requests
-- state: what memory held of the files before
-- classes: read
SELECT count(*) FROM command_data_requests WHERE op = 'read'
-- by file
SELECT owner_dev AS dev, owner_ino AS ino, count(*) AS value FROM command_data_requests WHERE op = 'read' GROUP BY owner_dev, owner_ino
