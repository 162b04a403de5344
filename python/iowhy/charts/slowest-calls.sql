-- title: The slowest calls, layer by layer
-- question: What happened below each of the slowest calls?
-- report: events
-- draws: waterfall
-- place: 70
-- needs: syscalls
-- Waits are the thread's own; requests those that were under way then: on its file, or of the thread. Flushes and
-- journal commits are below a call that makes data durable (sync_calls), or below a wait in it for the journal or a
-- flush: commits of the filesystem, the command's flushes of devices that those may be of (flush_targets); sync(2) waits for
-- all. Of each kind the twelve longest. Calls on pipes and sockets wait for other processes, and nothing below them is storage's: they are left out.
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
    FROM file_operations s
    LEFT JOIN call_kinds k ON k.name = s.name
    LEFT JOIN (SELECT DISTINCT dev, ino FROM files WHERE kind IN ('pipe', 'socket')) p ON p.dev = s.dev AND p.ino = s.ino
    WHERE s.dur_ns IS NOT NULL AND (k.kind IS NULL OR k.kind <> 'idle') AND p.ino IS NULL
    ORDER BY s.dur_ns DESC, s.ts_ns, s.tid
    LIMIT 20
), awaited AS (
    -- In which time of a call a flush or a commit is what it waits for, and of which filesystem; NULL: of all.
    SELECT s.call, y.ts_ns AS begin_ns, y.end_ns, y.dev
    FROM slow s
    JOIN sync_calls y ON y.tid = s.tid AND y.ts_ns = s.ts_ns AND y.name IN (s.name, s.name || ' (O_SYNC)')
    UNION ALL
    SELECT s.call, w.ts_ns, least(w.ts_ns + w.dur_ns, s.ts_ns + s.dur_ns), coalesce(w.dev, s.dev)
    FROM slow s
    JOIN waits w ON w.tid = s.tid AND w.ts_ns >= s.ts_ns AND w.ts_ns < s.ts_ns + s.dur_ns
    JOIN wait_kinds x ON x.reason = w.reason AND x.part IN ('commit', 'journal', 'flush')
    WHERE coalesce(w.dev, s.dev) IS NOT NULL
), flushed AS (
    SELECT DISTINCT a.call, f.dev, f.begin_ns, f.complete_ns
    FROM awaited a
    JOIN device_flushes f ON f.begin_ns < a.end_ns AND f.complete_ns > a.begin_ns AND f.of_command
    LEFT JOIN (SELECT DISTINCT dev FROM flush_targets) AS k ON k.dev = a.dev
    LEFT JOIN flush_targets t ON t.dev = a.dev AND t.disk_dev = f.dev
    WHERE k.dev IS NULL OR t.dev IS NOT NULL
), committed AS (
    SELECT DISTINCT a.call, j.dev, j.ts_ns, j.dur_ns
    FROM awaited a
    JOIN journal_commits j
        ON j.ts_ns < a.end_ns AND j.ts_ns + j.dur_ns > a.begin_ns AND coalesce(j.dev = a.dev, a.dev IS NULL)
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
        f.call, 'flush', 4,
        'flush of ' || coalesce(d.name, CAST(f.dev >> 20 AS VARCHAR) || ':' || CAST(f.dev & 1048575 AS VARCHAR)),
        f.begin_ns, f.complete_ns - f.begin_ns, NULL, NULL, NULL
    FROM flushed f
    LEFT JOIN devices d ON d.dev = f.dev
    UNION ALL
    SELECT call, 'journal', 5, 'journal commit', ts_ns, dur_ns, NULL, NULL, NULL FROM committed
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
