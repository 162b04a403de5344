-- title: A statement's time of one class, over all sessions that ran it
-- uses: _long_parts, _read_sessions, _sampled_readings, _session_times, _short_readings, _short_weights, probed_calls, probed_times, recording, threads
-- kept: table
-- Of runs that probes saw it is exact. Of long runs it is what the kernel counted between their begin and end. What is left of a session's
-- class is divided among short runs by its own readings of them, of a class that none met by those of all sessions; sleep, which
-- may be for the client, is as long as the readings that met it. Sleep for what another process of the server reads is for reading: of long
-- and probed runs as much of their sleep as of the readings that met them asleep.
-- column statement_id: statement, id
-- column class: key of the class, text
-- column exact_ns: of long runs, ns
-- column sampled_ns: of short ones, ns
WITH long_times AS (
    SELECT p.statement_id, t.tid, t.class, sum(t.ns * CASE WHEN t.class = 'idle' THEN p.idle_share ELSE p.active_share END) AS ns
    FROM _long_parts p
    JOIN _session_times t ON t.row_id = p.row_id
    GROUP BY p.statement_id, t.tid, t.class
), all_times AS (
    SELECT tid, class, sum(ns) AS ns FROM _session_times GROUP BY tid, class
), taken AS (
    SELECT tid, class, sum(ns) AS ns FROM long_times GROUP BY tid, class
), untaken AS (
    SELECT a.tid, a.class, greatest(a.ns - coalesce(t.ns, 0), 0) AS ns
    FROM all_times a
    LEFT JOIN taken t ON t.tid = a.tid AND t.class = a.class
    WHERE a.class <> 'idle'
), brief AS (
    -- To begin and to end takes a session some milliseconds of a CPU, and belongs to no statement: of those that do little else it counts.
    SELECT u.tid
    FROM untaken u
    JOIN (SELECT tid, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM threads GROUP BY tid) t ON t.tid = u.tid
    CROSS JOIN recording g
    WHERE t.start_ns > g.start_ns OR t.end_ns < g.end_ns
    GROUP BY u.tid
    HAVING sum(CASE WHEN u.class IN ('user', 'kernel') THEN u.ns ELSE 0 END) < 200000000
), every_reading AS (
    SELECT quantile_cont(span_ns / readings, 0.5) AS each_ns FROM _sampled_readings WHERE readings > 0
), scale AS (
    -- Far more than the readings that meet them is not theirs.
    SELECT CASE WHEN 2 * coalesce(m.weight, 0) * e.each_ns < u.ns THEN coalesce(m.weight, 0) * e.each_ns / u.ns ELSE 1 END AS share
    FROM (SELECT sum(n.ns) AS ns FROM untaken n JOIN brief b ON b.tid = n.tid) u
    CROSS JOIN (SELECT sum(s.weight) AS weight FROM _short_weights s JOIN brief b ON b.tid = s.tid) m
    CROSS JOIN every_reading e
), on_cpu AS (
    SELECT sum(n.ns) AS ns
    FROM untaken n
    LEFT JOIN brief b ON b.tid = n.tid
    WHERE b.tid IS NULL AND n.class IN ('user', 'kernel', 'runnable', 'recorder')
), cpu_readings AS (
    SELECT sum(weight) AS readings, sum(CASE WHEN expected THEN 0 ELSE weight END) AS counted
    FROM _short_weights
    WHERE kind = 'cpu' AND tid NOT IN (SELECT tid FROM brief)
), cpu_scale AS (
    -- So is what sessions take of a CPU, or wait for one, between two statements, where it is more than counted readings miss by chance.
    SELECT
        CASE WHEN (r.readings + 3 * sqrt(r.counted)) * e.each_ns < c.ns THEN r.readings * e.each_ns / c.ns ELSE 1 END AS share
    FROM on_cpu c
    CROSS JOIN cpu_readings r
    CROSS JOIN every_reading e
), rest AS (
    SELECT
        u.tid, u.class, k.kind,
        u.ns * CASE WHEN b.tid IS NOT NULL THEN c.share WHEN k.kind = 'cpu' THEN p.share ELSE 1 END AS ns
    FROM untaken u
    JOIN (
        SELECT DISTINCT class, CASE WHEN class IN ('user', 'kernel', 'runnable', 'recorder') THEN 'cpu' ELSE class END AS kind FROM untaken
    ) k ON k.class = u.class
    LEFT JOIN brief b ON b.tid = u.tid
    CROSS JOIN scale c
    CROSS JOIN cpu_scale p
), met AS (
    SELECT sum(weight) AS weight FROM _short_weights
), of_sessions AS (
    SELECT tid, kind, sum(weight) AS weight FROM _short_weights GROUP BY tid, kind
), of_kinds AS (
    SELECT kind, sum(weight) AS weight FROM _short_weights GROUP BY kind
), unmet AS (
    SELECT r.class, r.kind, sum(r.ns) AS ns
    FROM rest r
    LEFT JOIN of_sessions o ON o.tid = r.tid AND o.kind = r.kind
    WHERE o.kind IS NULL
    GROUP BY r.class, r.kind
), short_times AS (
    SELECT s.statement_id, r.class, r.ns * (s.weight / o.weight) AS ns
    FROM rest r
    JOIN of_sessions o ON o.tid = r.tid AND o.kind = r.kind
    JOIN _short_weights s ON s.tid = r.tid AND s.kind = r.kind
    UNION ALL
    SELECT s.statement_id, u.class, u.ns * (s.weight / o.weight)
    FROM unmet u
    JOIN of_kinds o ON o.kind = u.kind
    JOIN _short_weights s ON s.kind = u.kind
    UNION ALL
    -- A class that no reading met: by all readings.
    SELECT s.statement_id, u.class, u.ns * (sum(s.weight) / max(m.weight))
    FROM unmet u
    LEFT JOIN of_kinds o ON o.kind = u.kind
    CROSS JOIN _short_weights s
    CROSS JOIN met m
    WHERE o.kind IS NULL
    GROUP BY s.statement_id, u.class, u.ns
    UNION ALL
    SELECT statement_id, CASE kind WHEN 'served' THEN 'read' ELSE kind END, span_ns FROM _short_readings WHERE kind IN ('idle', 'served')
), for_reads AS (
    -- The sleep of sampled runs for their own ring is for reading already.
    SELECT
        s.statement_id,
        CAST(sum(CASE WHEN s.sleep = 'served' OR (s.sleep = 'ring' AND p.tid IS NOT NULL) THEN s.span_ns ELSE 0 END) AS DOUBLE)
            / sum(s.span_ns) AS share
    FROM _read_sessions s
    LEFT JOIN (SELECT DISTINCT tid FROM probed_calls) p ON p.tid = s.tid
    WHERE s.sleep IS NOT NULL AND s.span_ns > 0
    GROUP BY s.statement_id
), exactly AS (
    SELECT statement_id, class, ns FROM long_times
    UNION ALL
    SELECT statement_id, class, ns FROM probed_times
), together AS (
    SELECT e.statement_id, e.class, e.ns * CASE e.class WHEN 'idle' THEN 1 - coalesce(f.share, 0) ELSE 1 END AS exact_ns, 0 AS sampled_ns
    FROM exactly e
    LEFT JOIN for_reads f ON f.statement_id = e.statement_id
    UNION ALL
    SELECT e.statement_id, 'read', e.ns * f.share, 0
    FROM exactly e
    JOIN for_reads f ON f.statement_id = e.statement_id
    WHERE e.class = 'idle'
    UNION ALL
    SELECT statement_id, class, 0, ns FROM short_times
)
SELECT
    statement_id,
    class,
    CAST(floor(sum(exact_ns)) AS BIGINT) AS exact_ns,
    CAST(floor(sum(sampled_ns)) AS BIGINT) AS sampled_ns
FROM together
GROUP BY statement_id, class
HAVING sum(exact_ns) + sum(sampled_ns) > 0
