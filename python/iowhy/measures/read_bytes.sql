-- title: bytes that reads returned
-- unit: bytes
-- sensor: syscalls
-- classes: read
SELECT coalesce(sum(b.bytes), 0) FROM bytes_by_call b WHERE b.kind = 'read'
-- by file
SELECT b.dev, b.ino, sum(b.bytes) AS value FROM bytes_by_call b WHERE b.kind = 'read' GROUP BY b.dev, b.ino
-- by call
SELECT b.name, sum(b.bytes) AS value FROM bytes_by_call b WHERE b.kind = 'read' GROUP BY b.name
