-- title: mean read request
-- unit: bytes
-- sensor: block_requests
-- classes: read
SELECT avg(bytes) FROM command_data_requests WHERE op = 'read'
