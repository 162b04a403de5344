-- title: What a statement's calls moved, of runs that were met from begin to end
-- uses: call_kinds, named_files, probed_calls, statement_runs, syscalls, temporary_files
-- kept: table
-- column statement_id: statement, id
-- column calls: I/O calls, count
-- column syncs: of these, sync calls, count
-- column read_bytes: bytes that its read calls returned, bytes
-- column written_bytes: bytes that its write calls accepted, bytes
-- column spilled_bytes: of these, to temporary files, bytes
WITH stretches AS (
    SELECT tid, statement_id, ts_ns, ts_ns + dur_ns AS end_ns FROM probed_calls
    UNION ALL
    SELECT tid, statement_id, began_ns, ended_ns FROM statement_runs WHERE long
), marked AS (
    SELECT tid, ts_ns, 0 AS is_call, ts_ns AS stretch_ns, CAST(NULL AS VARCHAR) AS name, NULL AS ret, NULL AS dev, NULL AS ino FROM stretches
    UNION ALL
    SELECT tid, ts_ns, 1, NULL, name, ret, dev, ino FROM syscalls
), placed AS (
    SELECT
        tid, ts_ns, is_call, name, ret, dev, ino,
        max(stretch_ns) OVER (PARTITION BY tid ORDER BY ts_ns, is_call ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stretch_ns
    FROM marked
)
SELECT
    s.statement_id,
    count(*) AS calls,
    CAST(sum(CASE WHEN k.kind = 'sync' THEN 1 ELSE 0 END) AS BIGINT) AS syncs,
    CAST(sum(CASE WHEN k.kind = 'read' AND p.ret > 0 AND f.ino IS NOT NULL THEN p.ret ELSE 0 END) AS BIGINT) AS read_bytes,
    CAST(sum(CASE WHEN k.kind = 'write' AND p.ret > 0 AND f.ino IS NOT NULL THEN p.ret ELSE 0 END) AS BIGINT) AS written_bytes,
    CAST(sum(CASE WHEN k.kind = 'write' AND p.ret > 0 AND f.ino IS NOT NULL AND y.ino IS NOT NULL THEN p.ret ELSE 0 END) AS BIGINT) AS spilled_bytes
FROM placed p
JOIN stretches s ON s.tid = p.tid AND s.ts_ns = p.stretch_ns AND p.ts_ns < s.end_ns
LEFT JOIN call_kinds k ON k.name = p.name
LEFT JOIN named_files f ON f.dev = p.dev AND f.ino = p.ino AND f.kind = 'file'
LEFT JOIN temporary_files y ON y.dev = p.dev AND y.ino = p.ino
WHERE p.is_call = 1
GROUP BY s.statement_id
