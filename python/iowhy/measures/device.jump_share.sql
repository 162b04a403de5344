-- title: requests not next to the one queued before
-- unit: share
-- sensor: block_requests
-- classes: write, sync, read
SELECT CAST(count(*) FILTER (WHERE jump_bytes <> 0) AS DOUBLE) / nullif(count(jump_bytes), 0)
FROM command_requests
