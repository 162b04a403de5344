-- title: Statements
-- question: Which statement of the database waits, and for what?
-- stands in for: pg_stat_statements, pg_wait_sampling, performance_schema
-- about: statement runs time_ns cpu_ns read_ns write_ns sync_ns server_ns spilled_bytes holder
-- column statement: without its literals; of what belongs to no statement, the process by its title, text
-- column statement_id: its fingerprint; NULL of a process, id
-- column database: database of the session that ran it first, text
-- column runs: runs that probes saw or readings met, count
-- column time_ns: time of its sessions in it, ns
-- column low_ns: of time_ns, what it is at least, as short runs are sampled (95 %), ns
-- column high_ns: what it is at most, ns
-- column exact_share: of time_ns, in runs that probes saw, or so long that none was missed, share
-- column cpu_ns: on a CPU, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column read_ns: waiting to read, also for what I/O workers of the server read for it, ns
-- column write_ns: waiting to write, ns
-- column sync_ns: waiting for sync, ns
-- column other_ns: in other uninterruptible waits: limits, locks of the kernel, memory, unexplained, ns
-- column server_ns: asleep: for locks of the server, its other processes, or the client, ns
-- column lock_ns: of that, for locks of the server, by readings, ns
-- column holder: statement of the session that held the lock for most of that, text
-- column calls: I/O calls of its runs that were met from begin to end (so are the next columns), count
-- column syncs: of these, sync calls, count
-- column read_bytes: bytes that their read calls returned, and workers' for them; NULL if some may be for another statement, bytes
-- column written_bytes: bytes that their write calls accepted, bytes
-- column spilled_bytes: of these, to temporary files, bytes
-- column object: what most of the time of its reads is for: index, table, log or file, text
-- column object_share: of the time of its reads, that of this one, share
-- column object_reads: cold: they wait, mostly for what is read for the first time; thrashed: for what was read before; cached: they hardly wait, text
WITH sessions AS (
    SELECT DISTINCT tid, tgid FROM statement_readings
    UNION
    SELECT DISTINCT tid, tgid FROM probed_calls
), parents AS (
    SELECT DISTINCT t.ppid FROM threads t JOIN sessions s ON s.tgid = t.tgid WHERE t.tid = t.tgid
    UNION
    -- A server that lets nobody read its sessions has titles of its processes.
    SELECT DISTINCT ppid FROM threads WHERE tid = tgid AND title LIKE 'postgres: %'
), others AS (
    -- The server's own processes.
    SELECT
        n.comm AS statement,
        sum(t.cpu_ns) AS cpu_ns,
        sum(t.runnable_ns) AS runnable_ns,
        sum(t.blocked_ns) AS blocked_ns
    FROM thread_totals t
    JOIN (SELECT DISTINCT tgid, ppid FROM threads WHERE tid = tgid) o ON o.tgid = t.tgid
    JOIN parents p ON p.ppid = o.ppid
    JOIN named_processes n ON n.tgid = t.tgid
    LEFT JOIN sessions s ON s.tgid = t.tgid
    WHERE s.tgid IS NULL
    GROUP BY n.comm
)
SELECT
    CASE WHEN t.backend = 'iowhy' THEN 'iowhy reads the server''s views' ELSE coalesce(n.text, t.statement_id) END AS statement,
    t.statement_id,
    n.database,
    t.runs,
    t.time_ns,
    CAST(floor(t.exact_ns + greatest(t.sampled_ns * (1 - 1.96 / sqrt(greatest(t.readings, 4))), 0)) AS BIGINT) AS low_ns,
    CAST(floor(t.exact_ns + t.sampled_ns * (1 + 1.96 / sqrt(greatest(t.readings, 1)))) AS BIGINT) AS high_ns,
    t.exact_ns / nullif(t.time_ns, 0) AS exact_share,
    t.cpu_ns,
    t.runnable_ns,
    t.read_ns,
    t.write_ns,
    t.sync_ns,
    t.other_ns,
    t.server_ns,
    t.lock_ns,
    h.text AS holder,
    m.calls,
    m.syncs,
    m.read_bytes,
    m.written_bytes,
    m.spilled_bytes,
    b.object,
    b.share AS object_share,
    b.reads AS object_reads
FROM statement_totals t
LEFT JOIN statement_texts n ON n.statement_id = t.statement_id
LEFT JOIN statement_moves m ON m.statement_id = t.statement_id
LEFT JOIN statement_objects b ON b.statement_id = t.statement_id
LEFT JOIN statement_texts h ON h.statement_id = t.holder_id
UNION ALL
SELECT
    statement, NULL, NULL, NULL,
    CAST(cpu_ns + runnable_ns + blocked_ns AS BIGINT), CAST(cpu_ns + runnable_ns + blocked_ns AS BIGINT),
    CAST(cpu_ns + runnable_ns + blocked_ns AS BIGINT), 1.0,
    CAST(cpu_ns AS BIGINT), CAST(runnable_ns AS BIGINT), NULL, NULL, NULL, CAST(blocked_ns AS BIGINT), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL
FROM others
WHERE cpu_ns + runnable_ns + blocked_ns > 0
ORDER BY time_ns DESC, statement
