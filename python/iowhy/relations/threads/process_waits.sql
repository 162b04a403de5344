-- title: Time of one process's threads in waits of one class and reason: for storage, locks and memory, and held back by limits
-- uses: off_cpu, thread_intervals
-- column tgid: process, id
-- column class: key of the class of the time budget, text
-- column reason: reason, text
-- column parts: length in sixteenths of a nanosecond, number
SELECT t.tgid, o.class, o.reason, CAST(sum(o.parts) AS BIGINT) AS parts
FROM off_cpu o
JOIN thread_intervals t ON t.row_id = o.row_id
WHERE o.class NOT IN ('idle', 'user', 'kernel', 'runnable', 'unexplained')
GROUP BY t.tgid, o.class, o.reason
