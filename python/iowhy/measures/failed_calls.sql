-- title: calls and operations that returned an error
-- unit: count
-- sensor: syscalls
-- classes: kernel
SELECT coalesce(sum(errors), 0) FROM thread_calls
-- by file
SELECT dev, ino, sum(errors) AS value FROM calls_by_file GROUP BY dev, ino
-- by call
SELECT name, sum(errors) AS value FROM thread_calls GROUP BY name
