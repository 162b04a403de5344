-- title: device flushes
-- unit: count
-- sensor: block_requests
-- classes: sync
SELECT coalesce(sum(flushes), 0) FROM flush_totals WHERE of_command AND counted
