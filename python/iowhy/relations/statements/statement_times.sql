-- title: A statement's time of one class, over all sessions that ran it
-- uses: _long_parts, _session_times, _short_readings, probed_times
-- kept: table
-- Of runs that probes saw it is exact. Of long runs it is what the kernel counted between their begin and end. What is left of a session's
-- class is divided among short runs by its own readings that met them in it, of a class that none met by those of all sessions; sleep, which
-- may be for the client, is as long as the readings that met it.
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
), rest AS (
    SELECT
        a.tid, a.class,
        CASE WHEN a.class IN ('user', 'kernel', 'runnable', 'recorder') THEN 'cpu' ELSE a.class END AS kind,
        greatest(a.ns - coalesce(t.ns, 0), 0) AS ns
    FROM all_times a
    LEFT JOIN taken t ON t.tid = a.tid AND t.class = a.class
    WHERE a.class <> 'idle'
), met AS (
    SELECT sum(span_ns) AS span_ns, sum(readings) AS readings FROM _short_readings WHERE kind <> 'idle'
), scale AS (
    -- Sessions also take time without a statement, as they begin and end: far more than the readings met is not theirs.
    SELECT CASE WHEN 2 * max(m.span_ns) < sum(r.ns) THEN max(m.span_ns) / sum(r.ns) ELSE 1 END AS share
    FROM rest r
    CROSS JOIN met m
), of_sessions AS (
    SELECT tid, kind, sum(readings) AS readings FROM _short_readings GROUP BY tid, kind
), of_kinds AS (
    SELECT kind, sum(readings) AS readings FROM _short_readings GROUP BY kind
), unmet AS (
    SELECT r.class, r.kind, sum(r.ns) AS ns
    FROM rest r
    LEFT JOIN of_sessions o ON o.tid = r.tid AND o.kind = r.kind
    WHERE o.kind IS NULL
    GROUP BY r.class, r.kind
), short_times AS (
    SELECT s.statement_id, r.class, r.ns * c.share * (s.readings / o.readings) AS ns
    FROM rest r
    JOIN of_sessions o ON o.tid = r.tid AND o.kind = r.kind
    JOIN _short_readings s ON s.tid = r.tid AND s.kind = r.kind
    CROSS JOIN scale c
    UNION ALL
    SELECT s.statement_id, u.class, u.ns * c.share * (s.readings / o.readings)
    FROM unmet u
    JOIN of_kinds o ON o.kind = u.kind
    JOIN _short_readings s ON s.kind = u.kind
    CROSS JOIN scale c
    UNION ALL
    -- A class that no reading met: by all readings.
    SELECT s.statement_id, u.class, u.ns * c.share * (sum(s.readings) / max(m.readings))
    FROM unmet u
    LEFT JOIN of_kinds o ON o.kind = u.kind
    CROSS JOIN _short_readings s
    CROSS JOIN met m
    CROSS JOIN scale c
    WHERE o.kind IS NULL AND s.kind <> 'idle'
    GROUP BY s.statement_id, u.class, u.ns, c.share
    UNION ALL
    SELECT statement_id, 'idle', span_ns FROM _short_readings WHERE kind = 'idle'
), together AS (
    SELECT statement_id, class, ns AS exact_ns, 0 AS sampled_ns FROM long_times
    UNION ALL
    SELECT statement_id, class, ns, 0 FROM probed_times
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
