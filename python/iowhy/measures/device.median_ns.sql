-- title: median time of a request
-- unit: ns
-- sensor: block_requests
-- classes: write, sync, read
SELECT median(complete_ns - queue_ns) FROM command_data_requests
