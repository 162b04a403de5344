-- title: The slowest calls, layer by layer
-- question: What happened below each of the slowest calls?
-- report: events
-- draws: waterfall
-- place: 70
-- needs: syscalls
-- Waits are the thread's own; requests, flushes and journal commits those that were under way then: on its file, or of
-- the thread; flushes and commits are anybody's on the filesystem. Of each kind the twelve longest.
-- column call: number of the call, by its length, number
-- column at_s: begin of the call, s
-- column span_s: its length, s
-- column layer: call, wait, request, flush or journal, text
-- column what: the call; what it waited for; operation and device, text
-- column path: file, text
-- column begin_ns: after the begin of the call, ns
-- column dur_ns: length, ns
-- column bytes: bytes, bytes
WITH slow AS (
    SELECT
        row_number() OVER (ORDER BY s.dur_ns DESC, s.ts_ns, s.tid) AS call,
        s.ts_ns, s.dur_ns, s.tid, s.name, s.dev, s.ino, s.bytes
    FROM syscalls s
    LEFT JOIN call_kinds k ON k.name = s.name
    WHERE k.kind IS NULL OR k.kind <> 'idle'
    ORDER BY s.dur_ns DESC, s.ts_ns, s.tid
    LIMIT 20
), parts AS (
    SELECT call, 'call' AS layer, 1 AS place, name AS what, ts_ns, dur_ns, dev, ino, bytes FROM slow
    UNION ALL
    SELECT s.call, 'wait', 2, w.reason, w.ts_ns, w.dur_ns, w.dev, w.ino, NULL
    FROM slow s
    JOIN waits w ON w.tid = s.tid AND w.ts_ns >= s.ts_ns AND w.ts_ns < s.ts_ns + s.dur_ns
    UNION ALL
    SELECT
        s.call, 'request', 3,
        q.op || ' ' || coalesce(d.name, CAST(q.dev >> 20 AS VARCHAR) || ':' || CAST(q.dev & 1048575 AS VARCHAR)),
        q.queue_ns, q.complete_ns - q.queue_ns, q.owner_dev, q.owner_ino, q.bytes
    FROM slow s
    JOIN block_requests q
        ON q.queue_ns < s.ts_ns + s.dur_ns AND q.complete_ns > s.ts_ns
        AND (q.tid = s.tid OR (q.owner_dev = s.dev AND q.owner_ino = s.ino))
    LEFT JOIN devices d ON d.dev = q.dev
    WHERE q.op IN ('read', 'write') AND q.bytes > 0
    UNION ALL
    SELECT
        s.call, 'flush', 4,
        'flush of ' || coalesce(d.name, CAST(f.dev >> 20 AS VARCHAR) || ':' || CAST(f.dev & 1048575 AS VARCHAR)),
        f.begin_ns, f.complete_ns - f.begin_ns, NULL, NULL, NULL
    FROM slow s
    JOIN device_flushes f ON f.begin_ns < s.ts_ns + s.dur_ns AND f.complete_ns > s.ts_ns AND f.of_command
    LEFT JOIN devices d ON d.dev = f.dev
    UNION ALL
    SELECT s.call, 'journal', 5, 'journal commit', j.ts_ns, j.dur_ns, NULL, NULL, NULL
    FROM slow s
    JOIN journal_commits j ON j.dev = s.dev AND j.ts_ns < s.ts_ns + s.dur_ns AND j.ts_ns + j.dur_ns > s.ts_ns
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY call, layer ORDER BY dur_ns DESC, ts_ns) AS nth FROM parts
)
SELECT
    p.call,
    (s.ts_ns - r.start_ns) / 1e9 AS at_s,
    s.dur_ns / 1e9 AS span_s,
    p.layer,
    p.what,
    f.path,
    p.ts_ns - s.ts_ns AS begin_ns,
    p.dur_ns,
    p.bytes
FROM ranked p
JOIN slow s ON s.call = p.call
CROSS JOIN recording r
LEFT JOIN named_files f ON f.dev = p.dev AND f.ino = p.ino
WHERE p.nth <= 12
ORDER BY p.call, p.place, p.ts_ns, p.dur_ns
