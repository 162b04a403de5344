-- title: Time of one class of the budget that one user stack represents
-- uses: _sample_weights, _unsampled_time, _weight_scale
-- filtered as: stack_samples
-- kept: table
-- Each class of each thread is divided among its samples by their weights: the CPU time among those taken on a CPU; waits in a call
-- among those of the same call by how long they were blocked (asleep, where that waits for storage); waits outside calls among
-- their own; what samples represent beyond their own thread among others' (_weight_scale). What was lost is nobody's: it is in rows
-- without a sample. All rows of a class add up to that class of the budget, to the nanosecond.
-- column ts_ns: when the stack was taken; NULL: not sampled, ns
-- column tgid: process; of a sample its own, id
-- column tid: thread, as well, id
-- column kind: call, wait or cpu; NULL: not sampled, text
-- column syscall: call that it was in; NULL outside any, text
-- column user_stack_id: the stack; NULL where it could not be read, or was not sampled, id
-- column whole: the stack goes to the thread's start; NULL: not sampled, bool
-- column dev: filesystem of the file, the call's or the mapped one whose page is faulted on, id
-- column ino: inode of that file, id
-- column class: key of the class, text
-- column class_ns: time of that class, ns
WITH whole AS (
    SELECT
        w.ts_ns, w.tgid, w.tid, w.kind, w.syscall, w.user_stack_id, w.whole, w.dev, w.ino, s.class,
        CAST(floor(s.of_ns * (s.share * (w.told_ns / s.among_ns))) AS BIGINT) AS class_ns
    FROM _sample_weights w
    JOIN _weight_scale s
        ON s.tid = w.tid AND s.told_by = w.told_by AND s.syscall IS NOT DISTINCT FROM w.told_call
), taken AS (
    SELECT class, CAST(sum(class_ns) AS BIGINT) AS class_ns FROM whole GROUP BY class
), threads_of AS (
    -- What nobody represents goes by what is left of each thread; a millionth of all of it gives what rounding leaves a place.
    SELECT tid, tgid, class, max(thread_ns) AS thread_ns, sum(rest_ns) + max(thread_ns) / 1000000 AS rest_ns
    FROM _unsampled_time
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
