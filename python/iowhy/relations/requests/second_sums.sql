-- title: A device's requests of one kind in one second of the command's run
-- uses: block_requests, recording
-- Of the requests that were queued while the command ran, anybody's,
-- without writes of nothing: these ask for a flush, which is there as its own request.
SELECT
    q.dev,
    q.op,
    q.in_scope,
    q.owner_kind = 'unknown' AS unowned,
    CAST(floor((coalesce(q.complete_ns, q.over_by_ns) - r.start_ns) / 1e9) AS BIGINT) AS second,
    count(*) AS requests,
    sum(q.bytes) AS bytes,
    count(q.complete_ns) AS seen,
    sum(q.complete_ns - q.queue_ns) AS time_ns,
    count(q.complete_ns - q.issue_ns) AS served,
    sum(q.complete_ns - q.issue_ns) AS service_ns,
    count(CASE WHEN q.error <> 0 THEN 1 END) AS failed,
    sum(q.requeues) AS requeues
FROM block_requests q
CROSS JOIN recording r
WHERE (q.op <> 'write' OR q.bytes > 0) AND q.queue_ns BETWEEN r.start_ns AND r.end_ns
GROUP BY
    q.dev,
    q.op,
    q.in_scope,
    q.owner_kind = 'unknown',
    CAST(floor((coalesce(q.complete_ns, q.over_by_ns) - r.start_ns) / 1e9) AS BIGINT)
