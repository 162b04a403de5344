-- title: calls and operations
-- unit: count
-- sensor: syscalls
-- classes: kernel
SELECT coalesce(sum(calls), 0) FROM thread_calls
-- by file
SELECT dev, ino, sum(calls) AS value FROM calls_by_file GROUP BY dev, ino
-- by call
SELECT name, sum(calls) AS value FROM thread_calls GROUP BY name
