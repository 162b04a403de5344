-- title: What a session did when a reading met a run that readings may miss
-- uses: _sampled_readings, statement_runs, wait_classes, waits
-- kept: table
-- What the kernel's rows say of that moment decides, then the server's words.
-- column tid: thread of the session, id
-- column statement_id: statement, id
-- column kind: class of its wait, cpu, or what it sleeps for (_read_sessions), text
-- column readings: how often, count
-- column span_ns: the time until the next readings, ns
WITH met AS (
    SELECT s.tid, s.ts_ns, s.statement_id, s.readings, s.span_ns, s.sleep
    FROM _sampled_readings s
    JOIN statement_runs r ON r.tid = s.tid AND r.statement_id = s.statement_id
        AND s.ts_ns >= r.began_ns AND s.ts_ns < r.ended_ns
    WHERE s.readings > 0 AND NOT r.long
), waited AS (
    SELECT m.tid, m.ts_ns, max(c.class) AS class
    FROM met m
    JOIN waits w ON w.tid = m.tid AND w.ts_ns <= m.ts_ns AND w.ts_ns + w.dur_ns > m.ts_ns
    JOIN wait_classes c
        ON c.reason IS NOT DISTINCT FROM w.reason AND c.syscall IS NOT DISTINCT FROM w.syscall AND c.io IS NOT DISTINCT FROM w.io
    GROUP BY m.tid, m.ts_ns
)
SELECT
    m.tid,
    m.statement_id,
    coalesce(w.class, m.sleep, 'cpu') AS kind,
    CAST(sum(m.readings) AS BIGINT) AS readings,
    CAST(sum(m.span_ns) AS BIGINT) AS span_ns
FROM met m
LEFT JOIN waited w ON w.tid = m.tid AND w.ts_ns = m.ts_ns
GROUP BY 1, 2, 3
