-- title: How long more was asked of a volume than was bought, as the volume counts it
-- uses: volume_limits
-- Only of volumes that count it (Amazon's) and were read twice.
-- column dev: the volume, id
-- column span_ns: from its first reading to its last, ns
-- column volume_requests_ns: at the volume's limit of requests, ns
-- column volume_bytes_ns: at the volume's limit of bytes, ns
-- column machine_requests_ns: at the machine's limit of requests, ns
-- column machine_bytes_ns: at the machine's limit of bytes, ns
SELECT
    dev,
    max(ts_ns) - min(ts_ns) AS span_ns,
    max(volume_requests_ns) - min(volume_requests_ns) AS volume_requests_ns,
    max(volume_bytes_ns) - min(volume_bytes_ns) AS volume_bytes_ns,
    max(machine_requests_ns) - min(machine_requests_ns) AS machine_requests_ns,
    max(machine_bytes_ns) - min(machine_bytes_ns) AS machine_bytes_ns
FROM volume_limits
GROUP BY dev
HAVING max(ts_ns) > min(ts_ns)
