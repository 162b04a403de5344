-- title: What a statement's calls moved, of runs that were met from begin to end
-- uses: _statement_calls, named_files, temporary_files
-- kept: table
-- column statement_id: statement, id
-- column calls: I/O calls, count
-- column syncs: of these, sync calls, count
-- column read_bytes: bytes that its read calls returned; NULL if some may be another statement's, bytes
-- column written_bytes: bytes that its write calls accepted, bytes
-- column spilled_bytes: of these, to temporary files, bytes
SELECT
    c.statement_id,
    count(*) AS calls,
    CAST(sum(CASE WHEN c.kind = 'sync' THEN 1 ELSE 0 END) AS BIGINT) AS syncs,
    CASE
        WHEN count(c.done_bytes) = count(*)
            THEN CAST(sum(CASE WHEN c.kind = 'read' AND f.ino IS NOT NULL THEN c.done_bytes ELSE 0 END) AS BIGINT)
    END AS read_bytes,
    CAST(sum(CASE WHEN c.kind = 'write' AND f.ino IS NOT NULL THEN c.done_bytes ELSE 0 END) AS BIGINT) AS written_bytes,
    CAST(sum(CASE WHEN c.kind = 'write' AND f.ino IS NOT NULL AND y.ino IS NOT NULL THEN c.done_bytes ELSE 0 END) AS BIGINT) AS spilled_bytes
FROM _statement_calls c
LEFT JOIN named_files f ON f.dev = c.dev AND f.ino = c.ino AND f.kind = 'file'
LEFT JOIN temporary_files y ON y.dev = c.dev AND y.ino = c.ino
WHERE c.whole
GROUP BY c.statement_id
