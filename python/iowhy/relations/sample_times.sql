-- title: Time of one class of the budget that one user stack stands for
-- filtered as: stack_samples
-- kept: table
-- Each class of each thread is divided among its samples by their weights: the CPU time among those taken on a CPU; waits in a call
-- among those of the same call by how long they were blocked (asleep, where that waits for storage); waits outside calls among
-- their own. What a sample stands for beyond its own thread is that of threads which were not sampled as much (many that end after
-- one short call): it is divided among what is left of their time of that kind and call. No stack gets more than
-- its samples stand for, so that what was lost is nobody's: it is in rows without a sample. All rows of a
-- class add up to that class of the budget, to the nanosecond.
-- column ts_ns: when the stack was taken; NULL: not sampled, ns
-- column tgid: process; of a sample its own, id
-- column tid: thread, as well, id
-- column kind: call, wait or cpu; NULL: not sampled, text
-- column syscall: call that it was in; NULL outside any, text
-- column user_stack_id: the stack; NULL where it could not be read, or was not sampled, id
-- column whole: the stack goes to the thread's start; NULL: not sampled, bool
-- column dev: filesystem of the call's file, id
-- column ino: inode of the call's file, id
-- column class: key of the class, text
-- column class_ns: time of that class, ns
WITH stored AS (
    -- Sleep in these waits for storage (classed_sleeps).
    SELECT DISTINCT s.syscall, s.dev, s.ino
    FROM main.stack_samples s
    JOIN call_kinds k ON k.name = s.syscall AND (k.reaps OR k.opens OR k.kind IN ('read', 'write', 'sync'))
    LEFT JOIN (SELECT dev, ino, max(kind) AS kind FROM main.files GROUP BY dev, ino) f
        ON f.dev = s.dev AND f.ino = s.ino
    LEFT JOIN main.served_filesystems u ON u.dev = s.dev
    WHERE k.reaps OR (f.kind IN ('file', 'directory') AND (u.dev IS NOT NULL OR NOT k.opens))
), samples AS (
    SELECT
        s.ts_ns, s.tgid, s.tid, s.kind, s.syscall, s.user_stack_id, s.whole, s.dev, s.ino,
        s.stack_id, s.weight_ns,
        -- Where a source does not tell the parts, all of it is taken for waiting.
        coalesce(s.runnable_ns, 0) AS runnable_ns,
        coalesce(s.blocked_ns, CASE WHEN s.cpu_ns IS NULL THEN s.weight_ns ELSE s.weight_ns - s.cpu_ns END) AS blocked_ns,
        coalesce(s.sleeping_ns, 0) AS sleeping_ns,
        t.syscall IS NOT NULL AS for_storage
    FROM main.stack_samples s
    LEFT JOIN stored t
        ON t.syscall = s.syscall AND t.dev IS NOT DISTINCT FROM s.dev AND t.ino IS NOT DISTINCT FROM s.ino
), weighed AS (
    SELECT
        *,
        CASE WHEN stack_id IS NULL AND syscall IS NULL THEN 'user' ELSE 'kernel' END AS told_by,
        CAST(NULL AS VARCHAR) AS told_call,
        weight_ns AS told_ns
    FROM samples
    WHERE kind = 'cpu'
    UNION ALL
    SELECT *, 'waits', syscall, blocked_ns + CASE WHEN for_storage THEN sleeping_ns ELSE 0 END FROM samples WHERE kind = 'call'
    UNION ALL
    SELECT *, 'runnable', NULL, runnable_ns FROM samples WHERE kind = 'call'
    UNION ALL
    SELECT *, 'asleep', NULL, sleeping_ns FROM samples WHERE kind = 'call' AND NOT for_storage
    UNION ALL
    SELECT *, 'waits', NULL, weight_ns FROM samples WHERE kind = 'wait'
), kinds AS (
    -- The classes of one kind share its samples.
    SELECT *, sum(part_ns) OVER (PARTITION BY tid, told_by, syscall) AS kind_ns FROM thread_classes
), counted AS (
    -- Samples are many, of few threads, kinds and calls: all that is divided is found of these.
    SELECT w.tid, w.told_by, w.syscall, w.all_weight_ns, k.kind_ns
    FROM (
        SELECT tid, told_by, told_call AS syscall, sum(told_ns) AS all_weight_ns
        FROM weighed
        WHERE told_ns > 0
        GROUP BY tid, told_by, told_call
    ) w
    LEFT JOIN (SELECT DISTINCT tid, told_by, syscall, kind_ns FROM kinds) k
        ON k.tid = w.tid AND k.told_by = w.told_by AND k.syscall IS NOT DISTINCT FROM w.syscall
), rests AS (
    -- Beyond the own thread: of samples what they stand for, of classes what has none.
    SELECT *, 1 - least(1, coalesce(kind_ns, 0) / all_weight_ns) AS rest_share FROM counted
), thread_rests AS (
    SELECT
        k.tid, k.tgid, k.told_by, k.syscall, k.class, k.thread_ns,
        k.thread_ns * (k.part_share * (1 - least(1, coalesce(c.all_weight_ns, 0) / k.kind_ns))) AS rest_ns
    FROM kinds k
    LEFT JOIN counted c
        ON c.tid = k.tid AND c.told_by = k.told_by AND c.syscall IS NOT DISTINCT FROM k.syscall
), left_over AS (
    SELECT told_by, syscall, class, sum(rest_ns) AS class_ns FROM thread_rests GROUP BY told_by, syscall, class
), spare AS (
    SELECT *, sum(all_weight_ns * rest_share) OVER (PARTITION BY told_by, syscall) AS all_rest_ns
    FROM rests
    WHERE rest_share > 0
), wanted AS (
    SELECT *, sum(class_ns) OVER (PARTITION BY told_by, syscall) AS kind_ns FROM left_over WHERE class_ns > 0
), shared AS (
    -- What a nanosecond of a sample's weight is worth: `of` its part of `whole`.
    SELECT
        c.tid, c.told_by, c.syscall, k.class,
        k.thread_ns AS of_ns, k.part_share AS share, greatest(c.all_weight_ns, k.kind_ns) AS among_ns
    FROM counted c
    JOIN kinds k
        ON k.tid = c.tid AND k.told_by = c.told_by AND k.syscall IS NOT DISTINCT FROM c.syscall
    UNION ALL
    SELECT r.tid, r.told_by, r.syscall, w.class, w.class_ns, r.rest_share, greatest(r.all_rest_ns, w.kind_ns)
    FROM spare r
    JOIN wanted w ON w.told_by = r.told_by AND w.syscall IS NOT DISTINCT FROM r.syscall
), whole AS (
    SELECT
        w.ts_ns, w.tgid, w.tid, w.kind, w.syscall, w.user_stack_id, w.whole, w.dev, w.ino, s.class,
        CAST(floor(s.of_ns * (s.share * (w.told_ns / s.among_ns))) AS BIGINT) AS class_ns
    FROM weighed w
    JOIN shared s
        ON s.tid = w.tid AND s.told_by = w.told_by AND s.syscall IS NOT DISTINCT FROM w.told_call
    WHERE w.told_ns > 0
), taken AS (
    SELECT class, CAST(sum(class_ns) AS BIGINT) AS class_ns FROM whole GROUP BY class
), threads_of AS (
    -- What nobody stands for goes by what is left of each thread; a millionth of all of it gives what rounding leaves a place.
    SELECT tid, tgid, class, max(thread_ns) AS thread_ns, sum(rest_ns) + max(thread_ns) / 1000000 AS rest_ns
    FROM thread_rests
    GROUP BY tid, tgid, class
), running AS (
    SELECT
        tid, tgid, class, rest_ns,
        sum(rest_ns) OVER (PARTITION BY class) AS class_rest_ns,
        sum(rest_ns) OVER (PARTITION BY class ORDER BY tid, tgid ROWS UNBOUNDED PRECEDING) AS upto_ns,
        lead(tid) OVER (PARTITION BY class ORDER BY tid, tgid) IS NULL AS last,
        CAST(sum(thread_ns) OVER (PARTITION BY class) AS BIGINT) AS class_ns
    FROM threads_of
), ends AS (
    SELECT
        r.tid, r.tgid, r.class,
        -- The last is the whole, without a rounding on the way.
        CASE
            WHEN r.last THEN r.class_ns - coalesce(t.class_ns, 0)
            ELSE CAST(floor(r.upto_ns * ((r.class_ns - coalesce(t.class_ns, 0)) / r.class_rest_ns)) AS BIGINT)
        END AS upto_ns
    FROM running r
    LEFT JOIN taken t ON t.class = r.class
), unsampled AS (
    SELECT
        tid, tgid, class,
        upto_ns - coalesce(lag(upto_ns) OVER (PARTITION BY class ORDER BY tid, tgid), 0) AS class_ns
    FROM ends
)
SELECT * FROM whole WHERE class_ns > 0
UNION ALL
SELECT NULL, tgid, tid, NULL, NULL, NULL, NULL, NULL, NULL, class, class_ns FROM unsampled WHERE class_ns > 0
