-- title: One run of a statement by one session of a database
-- uses: _sampled_readings, recording, threads
-- kept: table
-- Of what is recorded. Where no reading says when it ended, the end is between two readings, or the session's.
-- column tid: thread of the session, id
-- column tgid: its process, id
-- column leader_tid: session that it works for; NULL if for none, id
-- column backend: kind of session, text
-- column statement_id: its statement, id
-- column began_ns: when it began, ns
-- column ended_ns: when it ended, ns
-- column readings: how often it was met, count
-- column exact: the server said when it ended, bool
-- column long: it took so long that no reading could miss it, bool
WITH reading_times AS (
    SELECT quantile_cont(span_ns / readings, 0.5) AS each_ns FROM _sampled_readings WHERE readings > 0
), ends AS (
    SELECT tid, max(end_ns) AS end_ns FROM threads GROUP BY tid
), runs AS (
    SELECT
        r.tid,
        max(r.tgid) AS tgid,
        max(r.leader_tid) AS leader_tid,
        max(r.backend) AS backend,
        r.statement_id,
        greatest(r.began_ns, max(g.start_ns)) AS began_ns,
        least(coalesce(max(r.ended_ns), max(g.end_ns)), coalesce(max(e.end_ns), max(g.end_ns)), max(g.end_ns)) AS ended_ns,
        CAST(sum(r.readings) AS BIGINT) AS readings,
        max(CASE WHEN r.exact THEN 1 ELSE 0 END) = 1 AS exact
    FROM _sampled_readings r
    CROSS JOIN recording g
    LEFT JOIN ends e ON e.tid = r.tid
    GROUP BY r.tid, r.statement_id, r.began_ns
)
SELECT
    r.tid, r.tgid, r.leader_tid, r.backend, r.statement_id, r.began_ns, r.ended_ns, r.readings, r.exact,
    coalesce(r.ended_ns - r.began_ns >= 2 * t.each_ns, false) AS long
FROM runs r
LEFT JOIN reading_times t ON true
WHERE r.ended_ns > r.began_ns
