-- title: A call within a run of a statement, its own or one that another process makes for it
-- uses: _served_reads, call_kinds, file_operations, probed_calls, statement_runs
-- kept: table
-- Of short runs, those of which the server says when they began and ended. Operations of io_uring count as calls do: 128 KiB from memory
-- take some 20 µs, so one of more than 100 µs waits.
-- column statement_id: statement, id
-- column served: another process makes it, bool
-- column whole: all its runs of this kind are known, bool
-- column ts_ns: entry, ns
-- column dur_ns: exit minus entry, ns
-- column blocked_ns: of that, in uninterruptible sleep, ns
-- column kind: what the call does; NULL: nothing with data, text
-- column done_bytes: what it read or wrote; 0: nothing; NULL: it may be for another statement, bytes
-- column dev: filesystem, id
-- column ino: inode, id
-- column offset: where in the file, bytes
WITH stretches AS (
    SELECT tid, statement_id, ts_ns, ts_ns + dur_ns AS end_ns, true AS whole FROM probed_calls
    UNION ALL
    SELECT tid, statement_id, began_ns, ended_ns, long FROM statement_runs WHERE long OR exact
), sessions AS (
    SELECT DISTINCT tid FROM stretches
), marked AS (
    SELECT
        tid, ts_ns, 0 AS is_call, ts_ns AS stretch_ns, 0 AS dur_ns, 0 AS blocked_ns, CAST(NULL AS VARCHAR) AS name, NULL AS ret,
        NULL AS dev, NULL AS ino, NULL AS "offset"
    FROM stretches
    UNION ALL
    SELECT
        c.tid, c.ts_ns, 1, NULL, coalesce(c.dur_ns, 0),
        coalesce(c.blocked_ns, CASE WHEN c.asynchronous AND c.dur_ns > 100000 THEN c.dur_ns END, 0),
        c.name, c.ret, c.dev, c.ino, c."offset"
    FROM file_operations c
    JOIN sessions s ON s.tid = c.tid
), placed AS (
    SELECT
        *,
        max(stretch_ns) OVER (PARTITION BY tid ORDER BY ts_ns, is_call ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS within_ns
    FROM marked
)
SELECT
    s.statement_id, false AS served, s.whole, p.ts_ns, p.dur_ns, p.blocked_ns, k.kind,
    CASE WHEN k.kind IN ('read', 'write') AND p.ret > 0 THEN p.ret ELSE 0 END AS done_bytes,
    p.dev, p.ino, p."offset"
FROM placed p
JOIN stretches s ON s.tid = p.tid AND s.ts_ns = p.within_ns AND p.ts_ns < s.end_ns
LEFT JOIN call_kinds k ON k.name = p.name
WHERE p.is_call = 1
UNION ALL
SELECT statement_id, true, true, ts_ns, dur_ns, blocked_ns, 'read', done_bytes, dev, ino, "offset"
FROM _served_reads
