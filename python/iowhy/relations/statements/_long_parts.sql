-- title: What of an interval of a session is a long run's: of its idle time, and of the rest
-- uses: _session_times, statement_runs, thread_intervals
-- kept: table
-- Between statements a session sleeps for its client: sleep is first put where no statement ran.
-- column row_id: number of the interval in thread_intervals, number
-- column statement_id: statement, id
-- column idle_share: of the interval's sleep, share
-- column active_share: of all else, share
WITH parts AS (
    SELECT
        t.row_id, r.statement_id, r.backend, t.end_ns - t.ts_ns AS whole_ns,
        least(r.ended_ns, t.end_ns) - greatest(r.began_ns, t.ts_ns) AS inside_ns
    FROM statement_runs r
    JOIN thread_intervals t ON t.tid = r.tid AND t.ts_ns < r.ended_ns AND t.end_ns > r.began_ns
    WHERE r.long
), idles AS (
    SELECT row_id, sum(CASE WHEN class = 'idle' THEN ns ELSE 0 END) AS idle_ns FROM _session_times GROUP BY row_id
), summed AS (
    SELECT row_id, max(whole_ns) AS whole_ns, least(sum(inside_ns), max(whole_ns)) AS inside_ns, sum(inside_ns) AS parts_ns
    FROM parts
    GROUP BY row_id
), divided AS (
    SELECT
        s.row_id, s.whole_ns, s.inside_ns, s.parts_ns,
        least(coalesce(i.idle_ns, 0), s.whole_ns) AS idle_ns,
        greatest(least(coalesce(i.idle_ns, 0), s.whole_ns) - (s.whole_ns - s.inside_ns), 0) AS idle_inside_ns
    FROM summed s
    LEFT JOIN idles i ON i.row_id = s.row_id
)
SELECT
    p.row_id,
    p.statement_id,
    -- Our own session, which reads the others', sleeps between two readings.
    CASE
        WHEN max(p.backend) = 'iowhy' THEN 0
        ELSE coalesce(sum(p.inside_ns) / max(d.parts_ns) * (max(d.idle_inside_ns) / nullif(max(d.idle_ns), 0)), 0)
    END AS idle_share,
    coalesce(
        sum(p.inside_ns) / max(d.parts_ns)
        * ((max(d.inside_ns) - max(d.idle_inside_ns)) / nullif(max(d.whole_ns) - max(d.idle_ns), 0)),
        0
    ) AS active_share
FROM parts p
JOIN divided d ON d.row_id = p.row_id
GROUP BY p.row_id, p.statement_id
