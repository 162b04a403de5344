-- title: bytes that writes accepted
-- unit: bytes
-- sensor: syscalls
-- classes: write, sync
SELECT coalesce(sum(s.done_bytes), 0)
FROM call_totals s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'write'
-- by file
SELECT s.dev, s.ino, sum(s.done_bytes) AS value
FROM call_totals s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'write'
GROUP BY s.dev, s.ino
-- by call
SELECT s.name, sum(s.done_bytes) AS value
FROM call_totals s
JOIN call_kinds k ON k.name = s.name
WHERE k.kind = 'write'
GROUP BY s.name
