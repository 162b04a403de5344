-- title: Latency of calls over time
-- question: How long did I/O calls take, and when?
-- report: syscall-latency
-- draws: heat
-- place: 30
-- needs: syscalls
-- Calls that were kept one by one; the six names with most time, the others together.
-- column group: name of the call, text
-- column low_ns: from this latency on, ns
-- column high_ns: up to this one, ns
-- column calls: calls that returned, count
WITH names AS (
    SELECT name, row_number() OVER (ORDER BY sum(dur_ns) DESC, name) AS place FROM file_operations GROUP BY name
)
SELECT
    l.cell,
    CASE WHEN n.place <= 6 THEN l.name ELSE 'other calls' END AS "group",
    l.low_ns,
    l.high_ns,
    sum(l.calls) AS calls
FROM call_latency_cells l
JOIN names n ON n.name = l.name
GROUP BY ALL
