-- title: Readings of sessions that no probe saw
-- uses: probed_calls, statement_readings
-- column readings: how often, count
-- column span_ns: the time until the next readings, ns
SELECT r.*
FROM statement_readings r
LEFT JOIN (SELECT DISTINCT tid FROM probed_calls) p ON p.tid = r.tid
WHERE p.tid IS NULL
