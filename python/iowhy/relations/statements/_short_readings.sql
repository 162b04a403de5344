-- title: What a session did when a reading met a run that readings may miss
-- uses: _sampled_readings, statement_runs, wait_classes, waits
-- kept: table
-- What the kernel's rows say of that moment decides, then the server's words.
-- column tid: thread of the session, id
-- column statement_id: statement, id
-- column kind: class of its wait, idle, or cpu, text
-- column readings: how often, count
-- column span_ns: the time until the next readings, ns
WITH met AS (
    SELECT s.tid, s.ts_ns, s.statement_id, s.readings, s.span_ns, s.wait
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
    CASE
        WHEN w.class IS NOT NULL THEN w.class
        WHEN m.wait LIKE 'Lock:%' OR m.wait LIKE 'LWLock:%' OR m.wait LIKE 'IPC:%' OR m.wait LIKE 'Client:%'
            OR m.wait LIKE 'Timeout:%' OR m.wait LIKE 'BufferPin:%' THEN 'idle'
        ELSE 'cpu'
    END AS kind,
    CAST(sum(m.readings) AS BIGINT) AS readings,
    CAST(sum(m.span_ns) AS BIGINT) AS span_ns
FROM met m
LEFT JOIN waited w ON w.tid = m.tid AND w.ts_ns = m.ts_ns
GROUP BY 1, 2, 3
