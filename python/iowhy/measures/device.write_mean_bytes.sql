-- title: mean write request
-- unit: bytes
-- sensor: block_requests
-- classes: write, sync
SELECT avg(bytes) FROM command_requests WHERE op = 'write'
