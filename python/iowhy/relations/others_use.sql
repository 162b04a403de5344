-- title: The requests of one process outside the command on one device
-- Of those that were made while the command ran. A write of nothing asks for a flush, which is there as a request of its own.
-- column dev: block device, id
-- column tgid: process, id
-- column requests: requests, count
-- column time_ns: from queue to completion, while the command ran, summed; NULL when none was seen to complete, ns
-- column place: 1 is the process with the most time on its device, number
SELECT
    dev,
    tgid,
    requests,
    time_ns,
    row_number() OVER (PARTITION BY dev ORDER BY time_ns DESC NULLS LAST, tgid) AS place
FROM (
    SELECT
        q.dev,
        q.tgid,
        count(*) AS requests,
        sum(CASE WHEN q.complete_ns IS NOT NULL THEN least(q.complete_ns, r.end_ns) - q.queue_ns END) AS time_ns
    FROM block_requests q
    CROSS JOIN recording r
    WHERE NOT q.in_scope AND q.tgid IS NOT NULL AND (q.op <> 'write' OR q.bytes > 0)
        AND q.queue_ns BETWEEN r.start_ns AND r.end_ns
    GROUP BY q.dev, q.tgid
) AS u
