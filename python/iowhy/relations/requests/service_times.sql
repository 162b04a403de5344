-- title: How many of the command's requests of one direction on one device took as long as that
-- uses: counted_devices, service_sums
-- column dev: block device, id
-- column op: read or write, text
-- column service_ns: from when it was handed to the driver, else queued, to completion; NULL: not seen, ns
-- column requests: requests, count
SELECT s.dev, s.op, s.service_ns, CAST(sum(s.requests) AS BIGINT) AS requests
FROM service_sums s
JOIN counted_devices c ON c.dev = s.dev AND c.owner_dev IS NOT DISTINCT FROM s.owner_dev
WHERE c.counted
GROUP BY s.dev, s.op, s.service_ns
