-- title: Time of one class by the call and reason behind it, from other tools' text, before rounding
-- uses: _fio_time, _job_time, call_kinds, machine_use, pasted_calls, pasted_waits, recording, syscall_totals, syscalls, threads, traffic_direction, wait_classes
-- kept: table
-- The first evidence that there is, in the order of how directly it speaks of time: a job's own, single calls, totals of
-- calls, latencytop's reasons, curt's means, the machine's CPUs, and last fio's own time.
-- A thread that is in a call to wait for time, peers or others' locks (futex, poll, wait4, a read from a pipe) is idle, and has a part of the elapsed time
-- only if that is longer than what the threads do.
-- column origin: darshan, calls, totals, latencytop, curt, machine or fio, text
-- column class: key of the class, text
-- column syscall: call, text
-- column reason: reason, text
-- column mode: how the CPUs were used then, if it is time on a CPU, text
-- column thread_parts: time of all threads in sixteenths of a nanosecond; NULL where nothing counts threads, number
-- column elapsed_parts: what falls to it of the elapsed time; all add up to that, number
WITH in_calls AS (
    SELECT
        origin, syscall, class,
        total_ns - least(total_ns, coalesce(cpu_ns, 0)) AS waiting_ns,
        least(total_ns, coalesce(cpu_ns, 0)) AS cpu_ns
    FROM pasted_calls
    WHERE (origin <> 'calls' OR class <> 'idle')
    -- `strace -c` without -w prints the calls' time on a CPU, which says nothing of waiting.
        AND (
            origin <> 'totals'
            OR EXISTS (SELECT 1 FROM pasted_calls WHERE origin = 'totals' AND cpu_ns IS DISTINCT FROM total_ns)
        )
), lives AS (
    -- A thread is there from when it was first seen to its end.
    SELECT
        c.tid,
        greatest(
            0,
            least(coalesce(max(t.end_ns), any_value(r.end_ns)), any_value(r.end_ns))
            - greatest(coalesce(min(t.start_ns), any_value(r.start_ns)), any_value(r.start_ns))
        ) AS life_ns
    FROM (SELECT DISTINCT tid FROM syscalls) AS c
    CROSS JOIN recording r
    LEFT JOIN threads t ON t.tid = c.tid
    GROUP BY c.tid
), waited AS (
    -- Calls that are only counted, and single ones.
    SELECT CAST(coalesce(sum(total_ns), 0) AS BIGINT) AS idle_ns
    FROM (
        SELECT t.total_ns
        FROM syscall_totals t
        JOIN call_kinds k ON k.name = t.name
        WHERE k.kind = 'idle' AND t.tid IN (SELECT tid FROM lives)
            AND t.name NOT IN (SELECT syscall FROM pasted_calls WHERE origin = 'calls')
            AND t.total_ns > 0 AND t.total_ns < 1e17
        UNION ALL
        SELECT total_ns FROM pasted_calls WHERE origin = 'calls' AND class = 'idle'
    ) AS w
), traced AS (
    SELECT whole_ns, in_calls_ns, least(idle_ns, greatest(0, whole_ns - in_calls_ns)) AS idle_ns, elapsed_ns
    FROM (
        SELECT
            (SELECT CAST(sum(life_ns) AS BIGINT) FROM lives) AS whole_ns,
            (SELECT CAST(sum(total_ns) AS BIGINT) FROM pasted_calls WHERE origin = 'calls' AND class <> 'idle') AS in_calls_ns,
            (SELECT idle_ns FROM waited) AS idle_ns,
            (SELECT coalesce(max(elapsed_ns), 0) FROM recording) AS elapsed_ns
    ) AS t
), printed AS (
    SELECT
        p.reason, p.syscall, c.class, p.total_ns, p.share,
        count(p.total_ns) OVER () > 0 AS timed
    FROM pasted_waits p
    JOIN wait_classes c
        ON c.reason = p.reason AND c.syscall IS NOT DISTINCT FROM p.syscall AND c.io IS NULL
), cpus AS (
    SELECT
        m.*,
        d.read_share,
        m.busy_cpus + m.waiting_cpus AS active,
        least(1.0, m.busy_cpus + m.waiting_cpus) / nullif(m.busy_cpus + m.waiting_cpus, 0) AS scale
    FROM machine_use m
    CROSS JOIN traffic_direction d
), ways AS (
    SELECT
        6 AS place, 'fio' AS origin, class, syscall, CAST(NULL AS VARCHAR) AS reason,
        CAST(NULL AS VARCHAR) AS mode, total_ns * 16 AS thread_parts, total_ns AS elapsed_parts
    FROM _fio_time
    UNION ALL
    SELECT 0, 'darshan', class, syscall, reason, NULL, total_ns * 16, total_ns
    FROM _job_time
    UNION ALL
    SELECT
        CASE origin WHEN 'calls' THEN 1 WHEN 'totals' THEN 2 ELSE 4 END,
        origin, class, syscall, NULL, NULL, waiting_ns * 16, waiting_ns
    FROM in_calls
    UNION ALL
    SELECT
        CASE origin WHEN 'calls' THEN 1 WHEN 'totals' THEN 2 ELSE 4 END,
        origin, 'kernel', syscall, NULL, NULL, cpu_ns * 16, cpu_ns
    FROM in_calls
    UNION ALL
    SELECT 1, 'calls', 'unexplained', NULL, 'outside calls of I/O', NULL,
        (whole_ns - in_calls_ns - idle_ns) * 16, whole_ns - in_calls_ns - idle_ns
    FROM traced
    WHERE whole_ns > in_calls_ns + idle_ns
    UNION ALL
    SELECT 1, 'calls', 'idle', NULL, NULL, NULL, idle_ns * 16, greatest(0, elapsed_ns - (whole_ns - idle_ns))
    FROM traced
    WHERE idle_ns > 0
    UNION ALL
    SELECT 3, 'latencytop', class, syscall, reason, NULL,
        CASE WHEN timed THEN total_ns * 16 END,
        CASE WHEN timed THEN total_ns ELSE CAST(round(share * 1e9) AS BIGINT) END
    FROM printed
    UNION ALL
    SELECT 5, 'machine', 'user', NULL, NULL, mode, NULL, CAST(round(user_cpus * scale * 1e9) AS BIGINT)
    FROM cpus
    UNION ALL
    SELECT 5, 'machine', 'kernel', NULL, NULL, mode, NULL,
        CAST(round((busy_cpus - user_cpus) * scale * 1e9) AS BIGINT)
    FROM cpus
    UNION ALL
    SELECT 5, 'machine', 'read', NULL, NULL, NULL, NULL,
        CAST(round(waiting_cpus * read_share * scale * 1e9) AS BIGINT)
    FROM cpus
    UNION ALL
    SELECT 5, 'machine', 'write', NULL, NULL, NULL, NULL,
        CAST(round(waiting_cpus * (1 - read_share) * scale * 1e9) AS BIGINT)
    FROM cpus
    UNION ALL
    SELECT 5, 'machine', 'unexplained', NULL,
        'I/O of which the text does not say whether it reads or writes', NULL, NULL,
        CAST(round(waiting_cpus * scale * 1e9) AS BIGINT)
    FROM cpus
    WHERE read_share IS NULL
    UNION ALL
    SELECT 5, 'machine', 'idle', NULL, NULL, NULL, NULL,
        CAST(round(greatest(1 - active, 0) * 1e9) AS BIGINT)
    FROM cpus
)
SELECT w.origin, w.class, w.syscall, w.reason, w.mode, w.thread_parts, w.elapsed_parts
FROM ways w
JOIN (SELECT min(place) AS place FROM ways WHERE elapsed_parts > 0) f ON f.place = w.place
WHERE w.elapsed_parts > 0 OR w.thread_parts > 0
