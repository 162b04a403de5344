-- title: A read or write of data, anybody's, in the order in which its device got it
-- uses: data_requests
-- filtered as: block_requests
-- kept: table
-- A seek is what the device does: here each request follows the one before it on its device, whoever
-- made that. Whether a program jumps is in command_requests. The other columns are those of
-- counted_requests.
-- column seek_bytes: from the end of the device's request before it, anybody's, to its begin; 0 is in order, bytes
WITH in_order AS (
    SELECT * FROM data_requests ORDER BY dev, sent_ns, sector
)
SELECT
    *,
    CASE WHEN dev = (lag(dev) OVER ()) THEN sector * 512 - (lag(sector * 512 + bytes) OVER ()) END AS seek_bytes
FROM in_order
