-- title: A statement's time of one class, by probes in its program
-- uses: probed_calls, wait_classes, waits
-- kept: table
-- The thread's clock, read where functions begin and end; which waits they were, by those that began between.
-- column statement_id: statement, id
-- column class: key of the class, text
-- column ns: time of that class, ns
WITH marked AS (
    SELECT tid, ts_ns, 0 AS dur_ns, ts_ns AS stretch_ns, CAST(NULL AS VARCHAR) AS class FROM probed_calls
    UNION ALL
    SELECT w.tid, w.ts_ns, w.dur_ns, NULL, c.class
    FROM waits w
    JOIN wait_classes c
        ON c.reason IS NOT DISTINCT FROM w.reason AND c.syscall IS NOT DISTINCT FROM w.syscall AND c.io IS NOT DISTINCT FROM w.io
), placed AS (
    SELECT
        tid, ts_ns, dur_ns, class,
        max(stretch_ns) OVER (PARTITION BY tid ORDER BY ts_ns, dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stretch_ns
    FROM marked
), waited AS (
    SELECT s.statement_id, p.class, sum(p.dur_ns) AS ns
    FROM placed p
    JOIN probed_calls s ON s.tid = p.tid AND s.ts_ns = p.stretch_ns
    WHERE p.class IS NOT NULL AND p.class NOT IN ('idle', 'unexplained') AND p.ts_ns < s.ts_ns + s.dur_ns
    GROUP BY s.statement_id, p.class
), known AS (
    SELECT statement_id, sum(ns) AS ns FROM waited GROUP BY statement_id
), clocks AS (
    SELECT
        statement_id,
        sum(time_ns - kernel_ns - runnable_ns - blocked_ns - sleeping_ns) AS user_ns,
        sum(kernel_ns) AS kernel_ns,
        sum(runnable_ns) AS runnable_ns,
        sum(blocked_ns) AS blocked_ns,
        sum(sleeping_ns) AS sleeping_ns
    FROM probed_calls
    GROUP BY statement_id
), times AS (
    SELECT statement_id, 'user' AS class, CAST(user_ns AS DOUBLE) AS ns FROM clocks
    UNION ALL
    SELECT statement_id, 'kernel', kernel_ns FROM clocks
    UNION ALL
    SELECT statement_id, 'runnable', runnable_ns FROM clocks
    UNION ALL
    SELECT statement_id, 'idle', sleeping_ns FROM clocks
    UNION ALL
    SELECT c.statement_id, 'unexplained', greatest(c.blocked_ns - coalesce(k.ns, 0), 0)
    FROM clocks c
    LEFT JOIN known k ON k.statement_id = c.statement_id
    UNION ALL
    SELECT w.statement_id, w.class, w.ns * least(c.blocked_ns / k.ns, 1)
    FROM waited w
    JOIN known k ON k.statement_id = w.statement_id AND k.ns > 0
    JOIN clocks c ON c.statement_id = w.statement_id
)
SELECT statement_id, class, CAST(floor(ns) AS BIGINT) AS ns FROM times WHERE ns >= 1
