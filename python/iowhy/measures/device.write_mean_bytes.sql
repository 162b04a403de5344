-- title: mean write request
-- unit: bytes
-- sensor: block_requests
-- classes: write, sync
SELECT avg(bytes) FROM own_requests WHERE op = 'write'
