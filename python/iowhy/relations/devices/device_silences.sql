-- title: A time in which a device had requests and answered none
-- uses: block_requests, unanswered_requests
-- filtered as: nothing
-- From one answer to the next, or from when the oldest request was sent that waits: 100 ms at least, and 20 times what half of
-- its requests take at most. A write without data only asks for a flush, and is left out; a discard may take as long as it likes.
-- column dev: block device, id
-- column begin_ns: since when it answers none, ns
-- column end_ns: its next answer, or the end of the recording, ns
-- column reads: reads that it had then, count
-- column writes: writes that it had then, count
-- column flushes: flushes that it had then, count
-- column bytes: of these reads and writes, bytes
WITH asked AS (
    SELECT dev, op, bytes, coalesce(issue_ns, queue_ns) AS sent_ns, complete_ns AS done_ns
    FROM block_requests
    WHERE complete_ns IS NOT NULL AND NOT (op = 'write' AND bytes = 0)
    UNION ALL
    SELECT dev, op, CAST(NULL AS BIGINT), sent_ns, end_ns FROM unanswered_requests
), gaps AS (
    SELECT dev, before_ns, done_ns AS end_ns
    FROM (SELECT dev, done_ns, lag(done_ns) OVER (PARTITION BY dev ORDER BY done_ns) AS before_ns FROM asked) a
    WHERE before_ns IS NULL OR done_ns - before_ns >= 100000000
), long AS (
    SELECT g.dev, greatest(coalesce(g.before_ns, 0), min(q.sent_ns)) AS begin_ns, g.end_ns
    FROM gaps g
    JOIN asked q ON q.dev = g.dev AND q.done_ns >= g.end_ns AND q.sent_ns <= g.end_ns - 100000000
    GROUP BY g.dev, g.before_ns, g.end_ns
), usual AS (
    SELECT dev, quantile_cont(done_ns - sent_ns, 0.5) AS middle_ns
    FROM asked
    WHERE dev IN (SELECT dev FROM long)
    GROUP BY dev
)
SELECT
    l.dev,
    l.begin_ns,
    l.end_ns,
    count(CASE WHEN q.op = 'read' THEN 1 END) AS reads,
    count(CASE WHEN q.op = 'write' THEN 1 END) AS writes,
    count(CASE WHEN q.op = 'flush' THEN 1 END) AS flushes,
    sum(q.bytes) AS bytes
FROM long l
JOIN usual u ON u.dev = l.dev AND l.end_ns - l.begin_ns >= 20 * u.middle_ns
JOIN asked q ON q.dev = l.dev AND q.sent_ns < l.end_ns AND q.done_ns > l.begin_ns
GROUP BY l.dev, l.begin_ns, l.end_ns
HAVING count(CASE WHEN q.op NOT IN ('read', 'write', 'flush') THEN 1 END) = 0
