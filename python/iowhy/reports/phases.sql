-- title: Phases
-- question: When did what the time went into change, and what was done in between?
-- stands in for: vmstat 1 and iostat -x 1, by eye
-- filters: none
-- about: phase begin_s end_s class class_share cause device
-- of the whole run: a stretch is cut by what came before and after it
-- column phase: number of the phase (iowhy why --phase N), number
-- column begin_s: its begin, after the start of the recording, s
-- column end_s: its end, s
-- column class: class of the budget with most of its time, text
-- column class_share: of its elapsed time, share
-- column cause: leading cause of the phase, judged alone, text
-- column device: block device with most in flight, text
-- column utilisation: of the phase, that device had a request in flight, share
-- column silent_share: of the phase, it had requests in flight and completed none, share
-- column requests_per_s: reads and writes that it completed, anybody's, 1/s
-- column mean_bytes: mean size of these, bytes
-- column call: system call with most of the calls' time, text
-- column calls: its calls that began in the phase, count
-- column file: file with most of the time of calls on files, text
-- column waited_ns: time in which threads waited for storage, summed, ns
-- A phase is a stretch of 0.3 s or more that is even, and unlike those next to it; there are at most seven, and one of all of an even run.
WITH classes AS (
    SELECT
        phase, class, elapsed_ns,
        row_number() OVER (PARTITION BY phase ORDER BY elapsed_ns DESC, class) AS place,
        sum(CASE WHEN class IN ('read', 'write', 'sync', 'throttled') THEN thread_ns ELSE 0 END) OVER (PARTITION BY phase)
            AS waited_ns
    FROM phase_classes
), devices_used AS (
    SELECT *, row_number() OVER (PARTITION BY phase ORDER BY queue_ns DESC, dev) AS place
    FROM phase_devices
    WHERE queue_ns > 0
), timed AS (
    SELECT p.phase, e.name, 1 AS calls, e.dur_ns AS total_ns, e.dev, e.ino
    FROM file_operations e
    JOIN phases p ON e.ts_ns >= p.begin_ns AND e.ts_ns < p.end_ns
    WHERE e.dur_ns IS NOT NULL
    UNION ALL
    SELECT p.phase, t.name, t.calls, t.total_ns, NULL, NULL
    FROM syscall_totals t
    JOIN phases p ON t.ts_ns >= p.begin_ns AND t.ts_ns < p.end_ns
    WHERE t.name NOT IN (SELECT name FROM thread_calls WHERE single)
), by_call AS (
    SELECT
        phase, name, sum(calls) AS calls,
        row_number() OVER (PARTITION BY phase ORDER BY sum(total_ns) DESC, name) AS place
    FROM timed
    WHERE name NOT IN (SELECT name FROM call_kinds WHERE kind = 'idle')
    GROUP BY phase, name
), by_file AS (
    SELECT
        phase, dev, ino,
        row_number() OVER (PARTITION BY phase ORDER BY sum(total_ns) DESC, dev, ino) AS place
    FROM timed
    WHERE dev IS NOT NULL AND ino IS NOT NULL
    GROUP BY phase, dev, ino
)
SELECT
    p.phase,
    round((p.begin_ns - r.start_ns) / 1e9, 2) AS begin_s,
    round((p.end_ns - r.start_ns) / 1e9, 2) AS end_s,
    b.class,
    c.elapsed_ns / nullif(p.end_ns - p.begin_ns, 0) AS class_share,
    p.cause,
    coalesce(n.name, CAST(d.dev >> 20 AS VARCHAR) || ':' || CAST(d.dev & 1048575 AS VARCHAR)) AS device,
    d.busy_ns / nullif(p.end_ns - p.begin_ns, 0) AS utilisation,
    d.silent_ns / nullif(p.end_ns - p.begin_ns, 0) AS silent_share,
    d.requests * 1e9 / nullif(p.end_ns - p.begin_ns, 0) AS requests_per_s,
    d.bytes / nullif(d.requests, 0) AS mean_bytes,
    a.name AS call,
    CAST(a.calls AS BIGINT) AS calls,
    f.path AS file,
    CAST(round(c.waited_ns) AS BIGINT) AS waited_ns
FROM phases p
CROSS JOIN recording r
LEFT JOIN classes c ON c.phase = p.phase AND c.place = 1
LEFT JOIN budget_classes b ON b.key = c.class
LEFT JOIN devices_used d ON d.phase = p.phase AND d.place = 1
LEFT JOIN devices n ON n.dev = d.dev
LEFT JOIN by_call a ON a.phase = p.phase AND a.place = 1
LEFT JOIN by_file i ON i.phase = p.phase AND i.place = 1
LEFT JOIN named_files f ON f.dev = i.dev AND f.ino = i.ino
ORDER BY p.phase
