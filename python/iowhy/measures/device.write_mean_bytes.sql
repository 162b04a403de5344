-- title: mean write request
-- unit: bytes
-- sensor: block_requests
-- classes: write, sync
SELECT avg(bytes) FROM command_data_requests WHERE op = 'write'
