-- title: The sizes, and the seeks, of a device's requests: the middle, and what few exceed
-- uses: request_sequence
-- percentiles by: dev, op, whose, what
-- column dev: block device, id
-- column op: read or write, text
-- column whose: command, shared or others, text
-- column what: bytes: their sizes; seek: the distances of those that do not follow the one before them, text
-- column p50_bytes: median, bytes
-- column p90_bytes: 90th percentile, bytes
SELECT dev, op, whose, 'bytes' AS what, bytes AS value FROM request_sequence
UNION ALL
SELECT dev, op, whose, 'seek', abs(seek_bytes) FROM request_sequence WHERE seek_bytes <> 0
