-- title: device flushes
-- unit: count
-- sensor: block_requests
-- classes: sync
SELECT count(*) FROM device_flushes WHERE of_command AND counted
