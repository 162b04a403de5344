-- title: A device's requests of one kind in one second of the command's run
-- uses: block_requests, recording, second_sums
-- Of the requests that were queued while the command ran, anybody's.
-- Writes of nothing ask for a flush, which is there as its own request.
-- column dev: block device, id
-- column op: read, write, flush, discard, zone or other, text
-- column in_scope: the command's; NULL: shared work, bool
-- column unowned: neither a file nor the filesystem's own use is known, bool
-- column empty: writes of no bytes, bool
-- column second: in which they were over, from 0 at the start; NULL for those that were not, number
-- column requests: requests, count
-- column bytes: their lengths, bytes
-- column seen: of the requests, those whose completion was seen, count
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- column served: of the requests, those whose issue and completion were seen, count
-- column service_ns: from issue to completion, summed; NULL when that was seen of none, ns
-- column failed: of the requests, those that ended in an error, count
-- column requeues: times that the driver gave one back; NULL where that was not seen, count
SELECT
    dev, op, in_scope, unowned, false AS empty, second, requests, bytes, seen, time_ns, served, service_ns, failed, requeues
FROM second_sums
UNION ALL
SELECT
    q.dev,
    q.op,
    q.in_scope,
    q.owner_kind = 'unknown',
    true,
    CAST(floor((coalesce(q.complete_ns, q.over_by_ns) - r.start_ns) / 1e9) AS BIGINT),
    count(*),
    sum(q.bytes),
    count(q.complete_ns),
    sum(q.complete_ns - q.queue_ns),
    count(q.complete_ns - q.issue_ns),
    sum(q.complete_ns - q.issue_ns),
    count(CASE WHEN q.error <> 0 THEN 1 END),
    sum(q.requeues)
FROM block_requests q
CROSS JOIN recording r
WHERE q.op = 'write' AND q.bytes = 0 AND q.queue_ns BETWEEN r.start_ns AND r.end_ns
GROUP BY 1, 2, 3, 4, 6
