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
    SELECT dev, tgid, CAST(sum(requests) AS BIGINT) AS requests, sum(time_ns) AS time_ns
    FROM others_requests
    WHERE tgid IS NOT NULL AND requests > 0
    GROUP BY dev, tgid
) AS u
