-- title: The requests of one process outside the command, of one file on one device
-- kept: table
-- As the recorder summed them up; else by the rows. Who uses a device most is asked of these sums, and of which file:
-- requests are read once for both.
-- column dev: block device, id
-- column tgid: process that submitted them; NULL: not known, id
-- column owner_dev: filesystem of the file that they are of, id
-- column owner_ino: inode of that file, id
-- column all_time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
-- column requests: of those made while the command ran, without writes of nothing, count
-- column time_ns: from queue to completion, or the end of the run, of these; NULL likewise, ns
-- when other_sums
SELECT dev, tgid, owner_dev, owner_ino, all_time_ns, requests, time_ns FROM other_sums
-- else
WITH seen AS (
    SELECT
        q.dev,
        q.tgid,
        q.owner_dev,
        q.owner_ino,
        q.queue_ns,
        q.complete_ns,
        r.end_ns,
        -- A write of nothing asks for a flush, which is there as a request of its own.
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
