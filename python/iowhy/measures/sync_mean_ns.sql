-- title: mean sync call
-- unit: ns
-- sensor: syscalls
-- classes: sync
SELECT avg(dur_ns) FROM sync_calls
-- by file
SELECT dev, ino, avg(dur_ns) AS value FROM sync_calls GROUP BY dev, ino
-- by call
SELECT name, avg(dur_ns) AS value FROM sync_calls GROUP BY name
