-- title: Readings of sessions that no probe saw
-- uses: _read_sessions, probed_calls
-- column readings: how often, count
-- column span_ns: the time until the next readings, ns
-- column sleep: as in _read_sessions, text
SELECT r.*
FROM _read_sessions r
LEFT JOIN (SELECT DISTINCT tid FROM probed_calls) p ON p.tid = r.tid
WHERE p.tid IS NULL
