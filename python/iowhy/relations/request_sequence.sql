-- title: A read or write of data, anybody's, in the order in which its device got it
-- filtered as: block_requests
-- kept: table
-- A seek is what the device does: here each request follows the one before it on its device, whoever
-- made that. Whether a program jumps is in command_requests. The other columns are those of
-- counted_requests.
-- column seek_bytes: from the end of the device's request before it, anybody's, to its begin; 0 is in order, bytes
SELECT
    *,
    sector * 512 - lag(sector * 512 + bytes) OVER (PARTITION BY dev ORDER BY sent_ns, sector)
        AS seek_bytes
FROM main.counted_requests
WHERE op IN ('read', 'write') AND bytes > 0 AND sector IS NOT NULL
