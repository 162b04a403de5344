-- title: What a statement took, over all sessions that ran it
-- uses: _sampled_readings, probed_calls, statement_locks, statement_runs, statement_times, threads
-- kept: table
-- A parallel worker's time is its leader's statement's, and not another run.
-- column statement_id: statement, id
-- column runs: runs that probes saw or readings met, count
-- column backend: kind of session, text
-- column time_ns: time of its sessions in it, ns
-- column exact_ns: of that, in runs that probes saw, or so long that none was missed, ns
-- column sampled_ns: in short ones, ns
-- column readings: of its sessions while they ran it, count
-- column each_ns: what one run takes; NULL where readings miss short ones and their server does not say, ns
-- column cpu_ns: on a CPU, ns
-- column runnable_ns: ready and waiting for a CPU, ns
-- column read_ns: waiting to read, ns
-- column write_ns: waiting to write, ns
-- column sync_ns: waiting for sync, ns
-- column other_ns: in other uninterruptible waits, ns
-- column server_ns: asleep, ns
-- column lock_ns: of that, for locks of the server, by readings, ns
-- column holder_id: statement of the session that held the lock for most of that, id
WITH times AS (
    SELECT
        statement_id,
        sum(exact_ns + sampled_ns) AS time_ns,
        sum(exact_ns) AS exact_ns,
        sum(sampled_ns) AS sampled_ns,
        sum(CASE WHEN class IN ('user', 'kernel', 'recorder') THEN exact_ns + sampled_ns ELSE 0 END) AS cpu_ns,
        sum(CASE WHEN class = 'runnable' THEN exact_ns + sampled_ns ELSE 0 END) AS runnable_ns,
        sum(CASE WHEN class = 'read' THEN exact_ns + sampled_ns ELSE 0 END) AS read_ns,
        sum(CASE WHEN class = 'write' THEN exact_ns + sampled_ns ELSE 0 END) AS write_ns,
        sum(CASE WHEN class = 'sync' THEN exact_ns + sampled_ns ELSE 0 END) AS sync_ns,
        sum(CASE WHEN class IN ('throttled', 'lock', 'memory', 'unexplained') THEN exact_ns + sampled_ns ELSE 0 END) AS other_ns,
        sum(CASE WHEN class = 'idle' THEN exact_ns + sampled_ns ELSE 0 END) AS server_ns
    FROM statement_times
    GROUP BY statement_id
), met AS (
    SELECT statement_id, sum(readings) AS readings FROM _sampled_readings GROUP BY statement_id
), short_runs AS (
    -- Of those that came and went between two readings: what is met by chance takes longer than most.
    SELECT statement_id, avg(ended_ns - began_ns) AS each_ns
    FROM statement_runs
    WHERE exact AND NOT long AND readings = 0
    GROUP BY statement_id
    HAVING count(*) >= 10
), workers AS (
    SELECT DISTINCT tid FROM threads WHERE title LIKE 'postgres: %parallel worker%'
), counted AS (
    SELECT statement_id, sum(runs) AS runs, max(backend) AS backend
    FROM (
        SELECT statement_id, CASE WHEN leader_tid IS NULL THEN 1 ELSE 0 END AS runs, backend FROM statement_runs
        UNION ALL
        SELECT c.statement_id, CASE WHEN c.begins AND w.tid IS NULL THEN 1 ELSE 0 END, NULL
        FROM probed_calls c
        LEFT JOIN workers w ON w.tid = c.tid
    ) r
    GROUP BY statement_id
), longest_lock AS (
    SELECT statement_id, sum(waited_ns) AS lock_ns, max_by(holder_id, waited_ns) AS holder_id
    FROM statement_locks
    GROUP BY statement_id
)
SELECT
    t.statement_id,
    CAST(c.runs AS BIGINT) AS runs,
    c.backend,
    CAST(t.time_ns AS BIGINT) AS time_ns,
    CAST(t.exact_ns AS BIGINT) AS exact_ns,
    CAST(t.sampled_ns AS BIGINT) AS sampled_ns,
    CAST(coalesce(m.readings, 0) AS BIGINT) AS readings,
    CAST(CASE WHEN t.sampled_ns > t.exact_ns THEN s.each_ns ELSE t.time_ns / nullif(c.runs, 0) END AS BIGINT) AS each_ns,
    CAST(t.cpu_ns AS BIGINT) AS cpu_ns,
    CAST(t.runnable_ns AS BIGINT) AS runnable_ns,
    CAST(t.read_ns AS BIGINT) AS read_ns,
    CAST(t.write_ns AS BIGINT) AS write_ns,
    CAST(t.sync_ns AS BIGINT) AS sync_ns,
    CAST(t.other_ns AS BIGINT) AS other_ns,
    CAST(t.server_ns AS BIGINT) AS server_ns,
    CAST(l.lock_ns AS BIGINT) AS lock_ns,
    l.holder_id
FROM times t
LEFT JOIN counted c ON c.statement_id = t.statement_id
LEFT JOIN met m ON m.statement_id = t.statement_id
LEFT JOIN short_runs s ON s.statement_id = t.statement_id
LEFT JOIN longest_lock l ON l.statement_id = t.statement_id
