-- title: The sums of the flushes of one device
-- As the recorder summed them up; else by the rows. What a flush is, and whose, stands in device_flushes.
-- column dev: block device, id
-- column of_command: the command's, bool
-- column counted: false for what is seen again on a device below, bool
-- column flushes: flushes, count
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- when flush_sums and syscalls or flush_sums and waits
SELECT
    f.dev,
    coalesce(f.in_scope, f.dev IN (SELECT dev FROM written_devices) AND f.waited, false) AS of_command,
    c.counted,
    sum(f.flushes) AS flushes,
    sum(f.time_ns) AS time_ns
FROM flush_sums f
JOIN counted_devices c ON c.dev = f.dev AND c.owner_dev IS NOT DISTINCT FROM f.owner_dev
WHERE NOT f.asked OR f.dev NOT IN (SELECT dev FROM flush_sums WHERE NOT asked)
GROUP BY 1, 2, 3
-- else
SELECT dev, of_command, counted, count(*) AS flushes, sum(complete_ns - queue_ns) AS time_ns
FROM device_flushes
GROUP BY dev, of_command, counted
