-- title: Limits of volumes
-- question: For how long was more asked of a volume than was bought?
-- stands in for: nvme amzn stats, ebsnvme stats
-- filters: since until
-- about: device volume_requests_share machine_requests_share
-- column device: the volume, text
-- column seen_ns: from its first reading to its last, ns
-- column volume_requests_share: of that, at the volume's limit of requests, share
-- column volume_bytes_share: at the volume's limit of bytes, share
-- column machine_requests_share: at the machine's limit of requests, share
-- column machine_bytes_share: at the machine's limit of bytes, share
SELECT
    d.name AS device,
    t.span_ns AS seen_ns,
    t.volume_requests_ns / t.span_ns AS volume_requests_share,
    t.volume_bytes_ns / t.span_ns AS volume_bytes_share,
    t.machine_requests_ns / t.span_ns AS machine_requests_share,
    t.machine_bytes_ns / t.span_ns AS machine_bytes_share
FROM counted_limits t
LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) d ON d.dev = t.dev
ORDER BY d.name, t.dev
