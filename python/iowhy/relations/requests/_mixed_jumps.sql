-- title: A request of the command on a device of which not all of them count, and whether it jumps
-- uses: command_data_requests, counted_devices
-- filtered as: block_requests
-- As in command_requests, of the few requests alone whose sums (jump_sums) do not say it. The other columns are those of command_data_requests.
-- column jump_bytes: from the end of the command's request before it to its begin; 0 is in order, bytes
SELECT
    *,
    sector * 512 - lag(sector * 512 + bytes) OVER (PARTITION BY dev, op ORDER BY queue_ns, sector) AS jump_bytes
FROM command_data_requests
WHERE dev IN (SELECT dev FROM counted_devices GROUP BY dev HAVING bool_or(counted) AND NOT bool_and(counted))
