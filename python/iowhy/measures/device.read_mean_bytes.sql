-- title: mean read request
-- unit: bytes
-- sensor: block_requests
-- classes: read
SELECT avg(bytes) FROM own_requests WHERE op = 'read'
