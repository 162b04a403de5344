-- title: How long a device's requests took: the middle, what few exceed, and the longest
-- uses: counted_requests
-- percentiles by: dev, op, whose
-- Requests whose completion was not seen are left out, and writes of nothing, whose flush is its own request.
-- column dev: block device, id
-- column op: read, write, flush, discard or other, text
-- column whose: command, shared or others, text
-- column p50_ns: median, from queue to completion, ns
-- column p90_ns: 90th percentile, ns
-- column p99_ns: 99th percentile, ns
-- column p999_ns: 99.9th percentile, ns
-- column max_ns: longest, ns
SELECT dev, op, whose, complete_ns - queue_ns AS value
FROM counted_requests
WHERE complete_ns IS NOT NULL AND (op <> 'write' OR bytes > 0)
