-- title: A request of the command that its device still had when the recording ended
-- uses: counted_requests, disk_samples, recording
-- A request without a completion may also be one whose completion was not seen: it counts only if it is not known to be over,
-- and if the device's own counters have as many in flight in the end.
-- column dev: block device, id
-- column op: read or write, text
-- column sent_ns: when it was handed to the driver, else queued, ns
-- column end_ns: end of the recording, ns
SELECT
    q.dev,
    q.op,
    q.sent_ns,
    r.end_ns
FROM (
    SELECT *, count(*) OVER (PARTITION BY dev) AS open FROM counted_requests WHERE complete_ns IS NULL AND over_by_ns IS NULL
) q
CROSS JOIN recording r
JOIN (SELECT dev, max_by(in_flight, ts_ns) AS in_flight FROM disk_samples GROUP BY dev) s
    ON s.dev = q.dev AND q.open <= s.in_flight
WHERE q.in_scope AND q.counted AND q.op IN ('read', 'write') AND q.bytes > 0
