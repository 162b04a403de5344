-- title: bytes that writes accepted
-- unit: bytes
-- sensor: syscalls
-- classes: write, sync
SELECT coalesce(sum(b.bytes), 0) FROM bytes_by_call b WHERE b.kind = 'write'
-- by file
SELECT b.dev, b.ino, sum(b.bytes) AS value FROM bytes_by_call b WHERE b.kind = 'write' GROUP BY b.dev, b.ino
-- by call
SELECT b.name, sum(b.bytes) AS value FROM bytes_by_call b WHERE b.kind = 'write' GROUP BY b.name
