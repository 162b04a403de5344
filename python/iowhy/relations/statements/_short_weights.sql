-- title: How much of a session's time of one kind is a statement's, of runs that readings may miss
-- uses: _sampled_readings, _short_readings, statement_runs, wait_classes, waits
-- kept: table
-- Readings that met it are few, and come late while all CPUs are busy: then short runs on a CPU are over. Some servers also say when the last
-- run of a session that rests began and ended. Of enough of these it is known how long a run takes, and how long its session rests after it:
-- how often readings would meet it. A rest is twice what was seen of it.
-- column tid: thread of the session, id
-- column statement_id: statement, id
-- column kind: class of its wait, or cpu, text
-- column weight: readings that meet it in that, expected or counted, count
WITH ended AS (
    SELECT r.tid, r.statement_id, r.began_ns, r.ended_ns, r.ts_ns
    FROM _sampled_readings r
    JOIN statement_runs u ON u.tid = r.tid AND u.statement_id = r.statement_id AND u.began_ns = r.began_ns AND NOT u.long
    WHERE r.readings = 0 AND r.exact AND r.ended_ns > r.began_ns
), known AS (
    SELECT
        statement_id,
        CAST(sum(ended_ns - began_ns) AS DOUBLE) AS ns,
        CAST(sum(2 * greatest(ts_ns - ended_ns, 0)) AS DOUBLE) AS rest_ns
    FROM ended
    GROUP BY statement_id
    HAVING count(*) >= 10
), waited AS (
    SELECT
        e.statement_id, c.class AS kind,
        CAST(sum(least(w.ts_ns + w.dur_ns, e.ended_ns) - greatest(w.ts_ns, e.began_ns)) AS DOUBLE) AS ns
    FROM ended e
    JOIN waits w ON w.tid = e.tid AND w.ts_ns < e.ended_ns AND w.ts_ns + w.dur_ns > e.began_ns
    JOIN wait_classes c
        ON c.reason IS NOT DISTINCT FROM w.reason AND c.syscall IS NOT DISTINCT FROM w.syscall AND c.io IS NOT DISTINCT FROM w.io
    GROUP BY e.statement_id, c.class
), asleep AS (
    SELECT
        statement_id,
        sum(CASE WHEN kind = 'idle' THEN readings ELSE 0 END) / sum(readings) AS share
    FROM _short_readings
    WHERE kind IN ('idle', 'cpu')
    GROUP BY statement_id
), parts AS (
    SELECT statement_id, kind, ns FROM waited WHERE kind <> 'idle'
    UNION ALL
    SELECT k.statement_id, 'cpu', greatest(k.ns - coalesce(w.ns, 0), 0) * (1 - coalesce(a.share, 0))
    FROM known k
    LEFT JOIN (SELECT statement_id, sum(ns) AS ns FROM waited GROUP BY statement_id) w ON w.statement_id = k.statement_id
    LEFT JOIN asleep a ON a.statement_id = k.statement_id
), seen AS (
    SELECT tid, statement_id, sum(readings) AS readings
    FROM (
        SELECT tid, statement_id, readings FROM _short_readings
        UNION ALL
        SELECT tid, statement_id, 1 FROM ended
    ) s
    GROUP BY tid, statement_id
)
SELECT s.tid, s.statement_id, p.kind, s.readings * p.ns / (k.ns + k.rest_ns) AS weight
FROM seen s
JOIN known k ON k.statement_id = s.statement_id
JOIN parts p ON p.statement_id = s.statement_id
WHERE p.ns > 0
UNION ALL
SELECT r.tid, r.statement_id, r.kind, CAST(r.readings AS DOUBLE)
FROM _short_readings r
LEFT JOIN known k ON k.statement_id = r.statement_id
WHERE k.statement_id IS NULL AND r.kind <> 'idle'
