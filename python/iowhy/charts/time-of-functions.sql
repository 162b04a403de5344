-- title: All time, by function
-- question: Whose code computed and waited, and in what?
-- report: callers
-- draws: flame
-- place: 62
-- needs: stack_samples
-- Threads of one name together, then functions, each called by the one above it, then the call. The largest paths are drawn as they
-- are, of each the 60 frames next to the thread's start; the others together. Times without a sample have no moment.
-- column at_s: begin of the cell; NULL where no stack was sampled, s
-- column span_s: its length, s
-- column thread: name of the threads, text
-- column path: functions, the outermost first, parted by a control character (US), text
-- column class: class of the time budget, text
-- column call: call that they were in, text
-- column thread_ns: time of all of them, ns
WITH located AS (
    SELECT
        CASE
            WHEN s.ts_ns IS NOT NULL THEN greatest(least((s.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0)
        END AS cell,
        coalesce(n.comm, 'name not known') AS thread,
        s.kind,
        s.user_stack_id,
        s.class,
        s.syscall,
        s.class_ns
    FROM sample_times s
    CROSS JOIN chart_cells c
    LEFT JOIN named_threads n ON n.tgid = s.tgid AND n.tid = s.tid
), outer_frames AS (
    SELECT user_stack_id, name, depth, row_number() OVER (PARTITION BY user_stack_id ORDER BY depth DESC) AS nth
    FROM named_frames
), written AS (
    SELECT user_stack_id, string_agg(name, chr(31) ORDER BY depth DESC) AS path
    FROM outer_frames
    WHERE nth <= 60
    GROUP BY user_stack_id
), largest AS (
    SELECT p.path, row_number() OVER (ORDER BY sum(l.class_ns) DESC, p.path) AS rank
    FROM located l
    JOIN written p ON p.user_stack_id = l.user_stack_id
    GROUP BY p.path
), named AS (
    SELECT
        l.cell,
        l.thread,
        CASE
            WHEN l.kind IS NULL THEN 'not sampled'
            WHEN p.path IS NULL THEN 'stack not read'
            WHEN g.rank > 400 THEN 'other paths'
            ELSE p.path
        END AS path,
        l.class,
        l.syscall,
        sum(l.class_ns) AS class_ns
    FROM located l
    LEFT JOIN written p ON p.user_stack_id = l.user_stack_id
    LEFT JOIN largest g ON g.path = p.path
    GROUP BY 1, 2, 3, 4, 5
), grid AS (
    -- Many paths at once are drawn over longer cells.
    SELECT CASE
        WHEN count(*) <= 9000 THEN 1
        WHEN count(DISTINCT (cell // 5, thread, path, class, syscall)) <= 9000 THEN 5
        WHEN count(DISTINCT (cell // 24, thread, path, class, syscall)) <= 9000 THEN 24
        ELSE 120
    END AS together
    FROM named
)
SELECT
    m.cell // g.together * g.together * max(c.cell_ns) / 1e9 AS at_s,
    CASE WHEN m.cell // g.together IS NOT NULL THEN g.together * max(c.cell_ns) / 1e9 END AS span_s,
    m.thread,
    m.path,
    b.class,
    m.syscall AS call,
    CAST(sum(m.class_ns) AS BIGINT) AS thread_ns
FROM named m
CROSS JOIN grid g
CROSS JOIN chart_cells c
JOIN budget_classes b ON b.key = m.class
GROUP BY m.cell // g.together, g.together, m.thread, m.path, b.class, m.syscall
ORDER BY thread_ns DESC, m.thread, m.path, b.class, m.syscall, at_s
