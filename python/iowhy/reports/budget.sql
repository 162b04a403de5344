-- title: Time budget
-- question: Where did every thread-second of the command go?
-- stands in for: latencytop, off-CPU analysis, thread-state views
-- filters: since until pid
-- column class: what the time was spent on, text
-- column thread_ns: time of all threads; the classes sum to the threads' lifetimes, ns
-- column share_of_thread_time: of all thread time, share
-- column share_of_elapsed: of the elapsed time, by what the threads that were not idle did, share
-- Uninterruptible time is classified by the waits in it, the rest of it is unexplained. In fsync-like
-- calls waits for pages, requests, journal and flushes are waiting for sync; waits for writeback, the
-- journal or a flush in a write are too (O_SYNC). Interruptible sleep is idle, but for I/O calls on files, and
-- for calls that collect asynchronous I/O as far as requests of the process were in flight.
-- share_of_elapsed: in each slice of time the classes of the threads share the slice in proportion to
-- their time that is not idle. Threads that are busy in turn add up to the slice, threads that are
-- busy together share it, and what is left when all were idle is idle. So an idle parent that waits
-- for its child does not dilute the child's cause.
WITH classes AS (
    SELECT * FROM (VALUES
        (1, 'on-CPU user'), (2, 'on-CPU kernel'), (3, 'runnable'), (4, 'waiting to read'),
        (5, 'waiting to write'), (6, 'waiting for sync'), (7, 'throttled'), (8, 'waiting for a lock'),
        (9, 'waiting for memory'), (10, 'idle'), (11, 'unexplained')
    ) AS c(place, class)
), spent AS (
    SELECT
        t.tid,
        t.ts_ns,
        t.interval_ns,
        t.ts_ns + t.interval_ns AS end_ns,
        t.cpu_user_ns,
        t.cpu_kernel_ns,
        t.runnable_ns,
        t.blocked_ns,
        t.sleeping_ns,
        CAST(floor((t.ts_ns - r.start_ns) / r.grid_ns) AS BIGINT) AS first_cell,
        CAST(floor((t.ts_ns + greatest(t.interval_ns, 1) - 1 - r.start_ns) / r.grid_ns) AS BIGINT)
            AS last_cell
    FROM thread_time t
    CROSS JOIN recording r
), spent_cells AS (
    SELECT tid, ts_ns, end_ns, unnest(generate_series(first_cell, last_cell)) AS cell
    FROM spent
), file_kinds AS (
    SELECT dev, ino, max(kind) AS kind FROM files GROUP BY dev, ino
), waited AS (
    -- weight_ns: how much of the stretch from begin to end counts, spread evenly over it.
    SELECT
        w.tid,
        w.tgid,
        'blocked' AS side,
        CASE
            WHEN x.budget IN ('throttled', 'memory', 'sync', 'lock', 'idle', 'unexplained') THEN x.budget
            WHEN k.kind = 'sync' THEN 'sync'
            WHEN x.budget = 'writeback' THEN CASE WHEN k.kind = 'write' THEN 'sync' ELSE 'write' END
            WHEN x.budget IN ('read', 'write') THEN x.budget
            WHEN k.kind = 'collect' THEN 'collect'
            WHEN k.kind IN ('write', 'change') THEN 'write'
            -- Opening reads names, which have reasons of their own: else it frees or allocates blocks.
            WHEN w.syscall IN ('open', 'openat', 'openat2', 'creat')
                AND coalesce(x.reason, 'other')
                    NOT IN ('fuse', 'network_filesystem', 'request_queue_full') THEN 'write'
            WHEN k.kind IN ('read', 'lookup') OR w.syscall IN ('sendfile', 'sendfile64') THEN 'read'
            WHEN k.kind = 'copy' THEN 'write'
            -- A page fault has no call: what it waits for is a page.
            WHEN x.reason IN ('page_lock', 'direct_io') OR w.io THEN 'read'
            ELSE 'unexplained'
        END AS class,
        w.ts_ns AS begin_ns,
        w.ts_ns + w.dur_ns AS end_ns,
        w.dur_ns AS weight_ns
    FROM waits w
    LEFT JOIN call_kinds k ON k.name = w.syscall
    LEFT JOIN wait_kinds x ON x.reason = w.reason
    WHERE w.dur_ns > 0
    UNION ALL
    SELECT
        s.tid,
        s.tgid,
        'sleeping',
        CASE
            WHEN k.kind = 'collect' THEN 'collect'
            WHEN k.kind = 'sync' THEN 'sync'
            WHEN k.kind = 'write' THEN 'write'
            ELSE 'read'
        END,
        s.ts_ns,
        s.ts_ns + s.dur_ns,
        s.sleeping_ns
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    LEFT JOIN file_kinds f ON f.dev = s.dev AND f.ino = s.ino
    WHERE s.sleeping_ns > 0 AND s.dur_ns > 0
        AND (k.kind = 'collect'
            OR (k.kind IN ('read', 'write', 'sync') AND f.kind IN ('file', 'directory')))
    UNION ALL
    -- Without the waits themselves, the calls still tell where uninterruptible time was spent.
    SELECT
        s.tid,
        s.tgid,
        'blocked',
        CASE
            WHEN k.kind = 'sync' THEN 'sync'
            WHEN k.kind IN ('write', 'change') THEN 'write'
            ELSE 'read'
        END,
        s.ts_ns,
        s.ts_ns + s.dur_ns,
        s.blocked_ns
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    CROSS JOIN recording r
    WHERE NOT r.ran_waits AND s.blocked_ns > 0 AND s.dur_ns > 0
        AND k.kind IN ('read', 'write', 'sync', 'lookup', 'change')
), waited_ranges AS (
    SELECT
        w.tid,
        w.tgid,
        w.side,
        w.class,
        w.begin_ns,
        w.end_ns,
        w.weight_ns,
        CAST(floor((w.begin_ns - r.start_ns) / r.grid_ns) AS BIGINT) AS first_cell,
        CAST(floor((w.end_ns - 1 - r.start_ns) / r.grid_ns) AS BIGINT) AS last_cell
    FROM waited w
    CROSS JOIN recording r
), waited_cells AS (
    -- Nearly all waits lie in one cell; only the others need a series.
    SELECT tid, tgid, side, class, begin_ns, end_ns, weight_ns, first_cell AS cell
    FROM waited_ranges
    WHERE first_cell = last_cell
    UNION ALL
    SELECT tid, tgid, side, class, begin_ns, end_ns, weight_ns,
        unnest(generate_series(first_cell, last_cell)) AS cell
    FROM waited_ranges
    WHERE first_cell < last_cell
), clipped AS (
    SELECT
        w.tid,
        w.tgid,
        w.side,
        w.class,
        w.cell,
        greatest(w.begin_ns, r.start_ns + w.cell * r.grid_ns) AS begin_ns,
        least(w.end_ns, r.start_ns + (w.cell + 1) * r.grid_ns) AS end_ns,
        w.weight_ns / (w.end_ns - w.begin_ns) AS density
    FROM waited_cells w
    CROSS JOIN recording r
), collecting AS (
    SELECT
        tgid,
        cell,
        sum(CASE WHEN side = 'sleeping' THEN (end_ns - begin_ns) * density END) AS asleep_ns
    FROM clipped
    WHERE class = 'collect'
    GROUP BY tgid, cell
), flight_ranges AS (
    SELECT
        q.tgid,
        q.op,
        q.queue_ns,
        q.complete_ns,
        CAST(floor((q.queue_ns - r.start_ns) / r.grid_ns) AS BIGINT) AS first_cell,
        CAST(floor((q.complete_ns - r.start_ns) / r.grid_ns) AS BIGINT) AS last_cell
    FROM block_requests q
    CROSS JOIN recording r
    WHERE q.op IN ('read', 'write') AND q.complete_ns IS NOT NULL
        AND q.tgid IN (SELECT tgid FROM collecting)
), flight_cells AS (
    SELECT tgid, op, queue_ns, complete_ns, unnest(generate_series(first_cell, last_cell)) AS cell
    FROM flight_ranges
), flying AS (
    SELECT
        f.tgid,
        f.cell,
        sum(least(f.complete_ns, r.start_ns + (f.cell + 1) * r.grid_ns)
            - greatest(f.queue_ns, r.start_ns + f.cell * r.grid_ns)) AS all_ns,
        sum(CASE WHEN f.op = 'read' THEN
            least(f.complete_ns, r.start_ns + (f.cell + 1) * r.grid_ns)
            - greatest(f.queue_ns, r.start_ns + f.cell * r.grid_ns) ELSE 0 END) AS read_ns
    FROM flight_cells f
    CROSS JOIN recording r
    GROUP BY f.tgid, f.cell
), collected AS (
    SELECT
        c.tgid,
        c.cell,
        least(1.0, f.all_ns / nullif(c.asleep_ns, 0)) * f.read_ns / nullif(f.all_ns, 0) AS read_part,
        least(1.0, f.all_ns / nullif(c.asleep_ns, 0)) * (f.all_ns - f.read_ns) / nullif(f.all_ns, 0)
            AS write_part,
        f.read_ns / nullif(f.all_ns, 0) AS read_share
    FROM collecting c
    LEFT JOIN flying f ON f.tgid = c.tgid AND f.cell = c.cell
), found AS (
    SELECT
        c.tid,
        s.ts_ns,
        c.side,
        c.class,
        c.tgid,
        c.cell,
        (least(c.end_ns, s.end_ns) - greatest(c.begin_ns, s.ts_ns)) * c.density AS ns
    FROM clipped c
    JOIN spent_cells s ON s.tid = c.tid AND s.cell = c.cell
    WHERE c.begin_ns < s.end_ns AND s.ts_ns < c.end_ns
), told AS (
    SELECT
        f.tid,
        f.ts_ns,
        sum(CASE WHEN f.side = 'blocked' THEN f.ns ELSE 0 END) AS blocked_ns,
        sum(CASE WHEN f.side = 'sleeping' THEN f.ns ELSE 0 END) AS sleeping_ns,
        sum(CASE
            WHEN f.side = 'blocked' AND f.class = 'read' THEN f.ns
            WHEN f.side = 'blocked' AND f.class = 'collect' THEN f.ns * coalesce(c.read_share, 1)
            ELSE 0
        END) AS b_read,
        sum(CASE
            WHEN f.side = 'blocked' AND f.class = 'write' THEN f.ns
            WHEN f.side = 'blocked' AND f.class = 'collect' THEN f.ns * (1 - coalesce(c.read_share, 1))
            ELSE 0
        END) AS b_write,
        sum(CASE WHEN f.side = 'blocked' AND f.class = 'sync' THEN f.ns ELSE 0 END) AS b_sync,
        sum(CASE WHEN f.class = 'throttled' THEN f.ns ELSE 0 END) AS b_throttled,
        sum(CASE WHEN f.class = 'lock' THEN f.ns ELSE 0 END) AS b_lock,
        sum(CASE WHEN f.class = 'memory' THEN f.ns ELSE 0 END) AS b_memory,
        sum(CASE WHEN f.class = 'idle' THEN f.ns ELSE 0 END) AS b_idle,
        sum(CASE
            WHEN f.side = 'sleeping' AND f.class = 'read' THEN f.ns
            WHEN f.side = 'sleeping' AND f.class = 'collect' THEN f.ns * coalesce(c.read_part, 0)
            ELSE 0
        END) AS s_read,
        sum(CASE
            WHEN f.side = 'sleeping' AND f.class = 'write' THEN f.ns
            WHEN f.side = 'sleeping' AND f.class = 'collect' THEN f.ns * coalesce(c.write_part, 0)
            ELSE 0
        END) AS s_write,
        sum(CASE WHEN f.side = 'sleeping' AND f.class = 'sync' THEN f.ns ELSE 0 END) AS s_sync,
        sum(CASE
            WHEN f.side = 'sleeping' AND f.class = 'collect' AND NOT r.ran_block_requests THEN f.ns
            ELSE 0
        END) AS s_unexplained
    FROM found f
    CROSS JOIN recording r
    LEFT JOIN collected c ON f.class = 'collect' AND c.tgid = f.tgid AND c.cell = f.cell
    GROUP BY f.tid, f.ts_ns
), scaled AS (
    -- What the waits tell never exceeds what the scheduler counted: clocks are read at other points.
    SELECT
        s.tid,
        s.ts_ns,
        s.interval_ns,
        s.cpu_user_ns,
        s.cpu_kernel_ns,
        s.runnable_ns,
        s.blocked_ns,
        s.sleeping_ns,
        least(1.0, coalesce(s.blocked_ns, t.blocked_ns) / nullif(t.blocked_ns, 0)) AS b,
        least(1.0, coalesce(s.sleeping_ns, t.sleeping_ns) / nullif(t.sleeping_ns, 0)) AS a,
        t.b_read, t.b_write, t.b_sync, t.b_throttled, t.b_lock, t.b_memory, t.b_idle,
        t.s_read, t.s_write, t.s_sync, t.s_unexplained
    FROM spent s
    LEFT JOIN told t ON t.tid = s.tid AND t.ts_ns = s.ts_ns
), parts AS (
    SELECT
        tid,
        ts_ns,
        interval_ns,
        coalesce(cpu_user_ns, 0) AS user_ns,
        coalesce(cpu_kernel_ns, 0) AS kernel_ns,
        coalesce(runnable_ns, 0) AS runnable_ns,
        coalesce(blocked_ns, 0) AS blocked_ns,
        coalesce(sleeping_ns, 0) AS sleeping_ns,
        CAST(floor(coalesce(b_read * b, 0)) AS BIGINT) AS b_read,
        CAST(floor(coalesce(b_write * b, 0)) AS BIGINT) AS b_write,
        CAST(floor(coalesce(b_sync * b, 0)) AS BIGINT) AS b_sync,
        CAST(floor(coalesce(b_throttled * b, 0)) AS BIGINT) AS throttled_ns,
        CAST(floor(coalesce(b_lock * b, 0)) AS BIGINT) AS lock_ns,
        CAST(floor(coalesce(b_memory * b, 0)) AS BIGINT) AS memory_ns,
        CAST(floor(coalesce(b_idle * b, 0)) AS BIGINT) AS b_idle,
        CAST(floor(coalesce(s_read * a, 0)) AS BIGINT) AS s_read,
        CAST(floor(coalesce(s_write * a, 0)) AS BIGINT) AS s_write,
        CAST(floor(coalesce(s_sync * a, 0)) AS BIGINT) AS s_sync,
        CAST(floor(coalesce(s_unexplained * a, 0)) AS BIGINT) AS s_unexplained
    FROM scaled
), rows_by_class AS (
    SELECT
        tid,
        ts_ns,
        interval_ns,
        user_ns,
        kernel_ns,
        runnable_ns,
        b_read + s_read AS read_ns,
        b_write + s_write AS write_ns,
        b_sync + s_sync AS sync_ns,
        throttled_ns,
        lock_ns,
        memory_ns,
        greatest(sleeping_ns - s_read - s_write - s_sync - s_unexplained, 0) + b_idle AS idle_ns,
        greatest(interval_ns, user_ns + kernel_ns + runnable_ns + blocked_ns + sleeping_ns) AS all_ns
    FROM parts
), complete_rows AS (
    SELECT
        *,
        all_ns - user_ns - kernel_ns - runnable_ns - read_ns - write_ns - sync_ns - throttled_ns
            - lock_ns - memory_ns - idle_ns AS unexplained_ns
    FROM rows_by_class
), bounds AS (
    SELECT min(ts_ns) AS first_ns, max(end_ns) AS last_ns FROM spent
), shares AS (
    SELECT
        s.cell,
        s.tid,
        s.ts_ns,
        (least(s.end_ns, r.start_ns + (s.cell + 1) * r.grid_ns)
            - greatest(s.ts_ns, r.start_ns + s.cell * r.grid_ns))
            / greatest(s.end_ns - s.ts_ns, 1) AS part
    FROM spent_cells s
    CROSS JOIN recording r
), cells AS (
    SELECT
        s.cell,
        sum(s.part * c.user_ns) AS user_ns,
        sum(s.part * c.kernel_ns) AS kernel_ns,
        sum(s.part * c.runnable_ns) AS runnable_ns,
        sum(s.part * c.read_ns) AS read_ns,
        sum(s.part * c.write_ns) AS write_ns,
        sum(s.part * c.sync_ns) AS sync_ns,
        sum(s.part * c.throttled_ns) AS throttled_ns,
        sum(s.part * c.lock_ns) AS lock_ns,
        sum(s.part * c.memory_ns) AS memory_ns,
        sum(s.part * c.unexplained_ns) AS unexplained_ns,
        sum(s.part * (c.all_ns - c.idle_ns)) AS active_ns
    FROM shares s
    JOIN complete_rows c ON c.tid = s.tid AND c.ts_ns = s.ts_ns
    GROUP BY s.cell
), weighed AS (
    SELECT
        c.*,
        least(b.last_ns, r.start_ns + (c.cell + 1) * r.grid_ns)
            - greatest(b.first_ns, r.start_ns + c.cell * r.grid_ns) AS length_ns
    FROM cells c
    CROSS JOIN bounds b
    CROSS JOIN recording r
), fair AS (
    SELECT *, least(1.0, length_ns / nullif(active_ns, 0)) AS weight FROM weighed
), elapsed AS (
    SELECT
        nullif(sum(length_ns), 0) AS all_ns,
        sum(user_ns * coalesce(weight, 0)) AS user_ns,
        sum(kernel_ns * coalesce(weight, 0)) AS kernel_ns,
        sum(runnable_ns * coalesce(weight, 0)) AS runnable_ns,
        sum(read_ns * coalesce(weight, 0)) AS read_ns,
        sum(write_ns * coalesce(weight, 0)) AS write_ns,
        sum(sync_ns * coalesce(weight, 0)) AS sync_ns,
        sum(throttled_ns * coalesce(weight, 0)) AS throttled_ns,
        sum(lock_ns * coalesce(weight, 0)) AS lock_ns,
        sum(memory_ns * coalesce(weight, 0)) AS memory_ns,
        sum(length_ns - least(active_ns, length_ns)) AS idle_ns,
        sum(unexplained_ns * coalesce(weight, 0)) AS unexplained_ns
    FROM fair
), totals AS (
    SELECT
        nullif(sum(all_ns), 0) AS all_ns,
        sum(user_ns) AS user_ns,
        sum(kernel_ns) AS kernel_ns,
        sum(runnable_ns) AS runnable_ns,
        sum(read_ns) AS read_ns,
        sum(write_ns) AS write_ns,
        sum(sync_ns) AS sync_ns,
        sum(throttled_ns) AS throttled_ns,
        sum(lock_ns) AS lock_ns,
        sum(memory_ns) AS memory_ns,
        sum(idle_ns) AS idle_ns,
        sum(unexplained_ns) AS unexplained_ns
    FROM complete_rows
), listed AS (
    SELECT
        c.place,
        c.class,
        CASE c.place
            WHEN 1 THEN t.user_ns WHEN 2 THEN t.kernel_ns WHEN 3 THEN t.runnable_ns
            WHEN 4 THEN t.read_ns WHEN 5 THEN t.write_ns WHEN 6 THEN t.sync_ns
            WHEN 7 THEN t.throttled_ns WHEN 8 THEN t.lock_ns WHEN 9 THEN t.memory_ns
            WHEN 10 THEN t.idle_ns WHEN 11 THEN t.unexplained_ns
        END AS thread_ns,
        t.all_ns,
        CASE c.place
            WHEN 1 THEN e.user_ns WHEN 2 THEN e.kernel_ns WHEN 3 THEN e.runnable_ns
            WHEN 4 THEN e.read_ns WHEN 5 THEN e.write_ns WHEN 6 THEN e.sync_ns
            WHEN 7 THEN e.throttled_ns WHEN 8 THEN e.lock_ns WHEN 9 THEN e.memory_ns
            WHEN 10 THEN e.idle_ns WHEN 11 THEN e.unexplained_ns
        END / e.all_ns AS share_of_elapsed
    FROM classes c
    CROSS JOIN totals t
    CROSS JOIN elapsed e
)
SELECT
    class,
    thread_ns,
    thread_ns / all_ns AS share_of_thread_time,
    share_of_elapsed
FROM listed
ORDER BY place
