-- title: How much of a session's time of one kind is a statement's, of runs that readings may miss
-- uses: _sampled_readings, _short_readings, statement_runs, wait_classes, waits
-- kept: table
-- Readings that met it are few, and come late while all CPUs are busy: then short runs on a CPU are over. Some servers also say when the last
-- run of a session that rests began and ended. Of enough of these it is known how long a run takes, and how long its session rests after it:
-- how often readings would meet it. A fifth of the readings meet the first fifth of a rest, whether rests are alike or not (the
-- mean of what they meet would be of the long ones). Where readings meet waits more than twice as often, runs are uneven:
-- those that came and went are the short ones, and readings count. What a ring of io_uring is waited for is sleep in the kernel's rows.
-- column tid: thread of the session, id
-- column statement_id: statement, id
-- column kind: class of its wait, or cpu, text
-- column weight: readings that meet it in that, expected or counted, count
-- column expected: expected, bool
WITH ended AS (
    SELECT r.tid, r.statement_id, r.began_ns, r.ended_ns, r.ts_ns
    FROM _sampled_readings r
    JOIN statement_runs u ON u.tid = r.tid AND u.statement_id = r.statement_id AND u.began_ns = r.began_ns AND NOT u.long
    WHERE r.readings = 0 AND r.exact AND r.ended_ns > r.began_ns
), known AS (
    SELECT
        statement_id,
        CAST(sum(ended_ns - began_ns) AS DOUBLE) AS ns,
        count(*) * 5 * quantile_cont(CAST(greatest(ts_ns - ended_ns, 0) AS DOUBLE), 0.2) AS rest_ns
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
        sum(CASE WHEN kind = 'cpu' THEN readings ELSE 0 END) / sum(readings) AS cpu_share,
        sum(CASE WHEN kind = 'ring' THEN readings ELSE 0 END) / sum(readings) AS ring_share
    FROM _short_readings
    WHERE kind IN ('idle', 'served', 'ring', 'cpu')
    GROUP BY statement_id
), parts AS (
    SELECT statement_id, kind, ns FROM waited WHERE kind <> 'idle'
    UNION ALL
    SELECT
        k.statement_id, x.kind,
        greatest(k.ns - coalesce(w.ns, 0), 0) * CASE x.kind WHEN 'cpu' THEN coalesce(a.cpu_share, 1) ELSE coalesce(a.ring_share, 0) END
    FROM known k
    CROSS JOIN (SELECT 'cpu' AS kind UNION ALL SELECT 'read') AS x
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
), modelled AS (
    SELECT s.tid, s.statement_id, p.kind, sum(s.readings * p.ns / (k.ns + k.rest_ns)) AS weight
    FROM seen s
    JOIN known k ON k.statement_id = s.statement_id
    JOIN parts p ON p.statement_id = s.statement_id
    WHERE p.ns > 0
    GROUP BY s.tid, s.statement_id, p.kind
), met AS (
    SELECT tid, statement_id, CASE kind WHEN 'ring' THEN 'read' ELSE kind END AS kind, CAST(sum(readings) AS DOUBLE) AS weight
    FROM _short_readings
    WHERE kind NOT IN ('idle', 'served')
    GROUP BY 1, 2, 3
), uneven AS (
    SELECT m.statement_id, m.kind
    FROM (SELECT statement_id, kind, sum(weight) AS weight FROM met GROUP BY statement_id, kind) m
    JOIN known k ON k.statement_id = m.statement_id
    LEFT JOIN (SELECT statement_id, kind, sum(weight) AS weight FROM modelled GROUP BY statement_id, kind) o
        ON o.statement_id = m.statement_id AND o.kind = m.kind
    WHERE m.kind <> 'cpu' AND m.weight >= 10 AND m.weight > 2 * coalesce(o.weight, 0)
)
SELECT m.tid, m.statement_id, m.kind, m.weight, true AS expected
FROM modelled m
LEFT JOIN uneven u ON u.statement_id = m.statement_id AND u.kind = m.kind
WHERE u.kind IS NULL
UNION ALL
SELECT m.tid, m.statement_id, m.kind, m.weight, false
FROM met m
LEFT JOIN known k ON k.statement_id = m.statement_id
LEFT JOIN uneven u ON u.statement_id = m.statement_id AND u.kind = m.kind
WHERE k.statement_id IS NULL OR u.kind IS NOT NULL
