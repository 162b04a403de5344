-- title: sync calls
-- unit: count
-- sensor: syscalls
-- classes: sync
SELECT count(*) FROM sync_calls
-- by file
SELECT dev, ino, count(*) AS value FROM sync_calls GROUP BY dev, ino
-- by call
SELECT name, count(*) AS value FROM sync_calls GROUP BY name
