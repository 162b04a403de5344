-- title: How long a statement waited for locks of its server, and for whose
-- uses: statement_readings
-- By readings: sessions that hold a lock may be between two statements; then it is the one before.
-- column statement_id: statement that waited, id
-- column holder_id: statement that the holder ran then, or last; NULL if not known, id
-- column holder_tid: its session, the one that held longest, id
-- column lock: the lock, in the server's words, text
-- column waited_ns: time of the readings that met it, ns
WITH waiting AS (
    SELECT tid, ts_ns, statement_id, holder_tid, wait, span_ns FROM statement_readings WHERE wait LIKE 'Lock:%' AND span_ns > 0
), before AS (
    SELECT
        w.tid, w.ts_ns, h.statement_id AS holder_id,
        row_number() OVER (PARTITION BY w.tid, w.ts_ns ORDER BY h.began_ns DESC, h.ts_ns DESC) AS place
    FROM waiting w
    JOIN statement_readings h ON h.tid = w.holder_tid AND h.began_ns <= w.ts_ns
)
SELECT
    w.statement_id,
    b.holder_id,
    max_by(w.holder_tid, w.span_ns) AS holder_tid,
    max(w.wait) AS "lock",
    CAST(sum(w.span_ns) AS BIGINT) AS waited_ns
FROM waiting w
LEFT JOIN before b ON b.tid = w.tid AND b.ts_ns = w.ts_ns AND b.place = 1
GROUP BY w.statement_id, b.holder_id
