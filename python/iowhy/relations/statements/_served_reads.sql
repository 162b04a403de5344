-- title: A read that another process of the server made for a run of a statement
-- uses: _read_sessions, call_kinds, probed_calls, statement_runs, syscalls, threads
-- kept: table
-- PostgreSQL's I/O workers (io_method=worker): a read is for the statement that was waited for with during the read. Where that is true of
-- several, it is not known for which: each has it, without bytes.
-- column statement_id: statement, id
-- column ts_ns: entry, ns
-- column dur_ns: exit minus entry, ns
-- column blocked_ns: of that, in uninterruptible sleep, ns
-- column done_bytes: what it read; NULL where its statement is not known, bytes
-- column dev: filesystem, id
-- column ino: inode, id
-- column offset: where in the file, bytes
WITH workers AS (
    SELECT DISTINCT tid FROM threads WHERE title LIKE 'postgres: %io worker%'
), waiting AS (
    SELECT DISTINCT statement_id FROM _read_sessions WHERE sleep = 'served'
), runs AS (
    SELECT r.statement_id, r.began_ns, r.ended_ns
    FROM (
        SELECT statement_id, began_ns, ended_ns FROM statement_runs WHERE long OR exact
        UNION ALL
        SELECT statement_id, ts_ns, ts_ns + dur_ns FROM probed_calls
    ) AS r
    JOIN waiting w ON w.statement_id = r.statement_id
), reads AS (
    SELECT c.tid, c.ts_ns, c.dur_ns, coalesce(c.blocked_ns, 0) AS blocked_ns, c.ret, c.dev, c.ino, c."offset"
    FROM syscalls c
    JOIN workers w ON w.tid = c.tid
    JOIN call_kinds k ON k.name = c.name
    WHERE k.kind = 'read' AND c.ret > 0
), candidates AS (
    SELECT DISTINCT r.statement_id, c.*
    FROM reads c
    JOIN runs r ON r.began_ns <= c.ts_ns AND r.ended_ns > c.ts_ns
)
SELECT
    statement_id, ts_ns, dur_ns, blocked_ns,
    CASE WHEN count(*) OVER (PARTITION BY tid, ts_ns) = 1 THEN ret END AS done_bytes,
    dev, ino, "offset"
FROM candidates
