-- title: The requests of one process outside the command, of one file on one device
-- uses: block_requests, recording
-- kept: table
-- Who uses a device most is asked of these sums, and of which file:
-- requests are read once for both.
WITH seen AS (
    SELECT
        q.dev,
        q.tgid,
        q.owner_dev,
        q.owner_ino,
        q.queue_ns,
        q.complete_ns,
        r.end_ns,
        -- A write of nothing asks for a flush, which is there as its own request.
        (q.op <> 'write' OR q.bytes > 0) AND q.queue_ns BETWEEN r.start_ns AND r.end_ns AS in_run
    FROM block_requests q
    CROSS JOIN recording r
    WHERE NOT q.in_scope
)
SELECT
    dev,
    tgid,
    owner_dev,
    owner_ino,
    sum(complete_ns - queue_ns) AS all_time_ns,
    count(CASE WHEN in_run THEN 1 END) AS requests,
    sum(CASE WHEN in_run AND complete_ns IS NOT NULL THEN least(complete_ns, end_ns) - queue_ns END) AS time_ns
FROM seen
GROUP BY dev, tgid, owner_dev, owner_ino
