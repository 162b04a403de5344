-- title: A stretch in which a thread ran a statement, by probes
-- uses: statement_calls, statement_readings
-- Without what iowhy asks a server itself.
-- column begins: a run begins with it, bool
SELECT c.*
FROM statement_calls c
LEFT JOIN (SELECT DISTINCT tid FROM statement_readings WHERE backend = 'iowhy') o ON o.tid = c.tid
WHERE o.tid IS NULL
