-- title: A thread's time of one class of the budget, and how much of it is of one kind that samples can show
-- uses: budget_classes, budget_pieces, off_cpu, thread_intervals
-- filtered as: nothing
-- kept: table
-- thread_ns of all threads of a class add up to that class of the budget: whole nanoseconds, each of what its part brings the sum over.
-- Waits are distinguished by their call: what a sample of another call represents says nothing of them. Idle sleep and
-- what is unexplained outside any call are of no kind that is sampled separately.
-- column tid: thread, id
-- column tgid: process, id
-- column class: key of the class, text
-- column told_by: samples that represent it: user, kernel, runnable, asleep, waits, or none, text
-- column syscall: of waits, the call; NULL outside any, text
-- column thread_ns: the thread's time of the class, ns
-- column part_ns: of the class's time, what is of that kind and call, before rounding, ns
-- column part_share: part_ns of the thread's time of the class, share
WITH parts AS (
    SELECT tid, tgid, 'user' AS class, 'user' AS told_by, CAST(NULL AS VARCHAR) AS syscall, 16 * user_ns AS parts
    FROM thread_intervals
    UNION ALL
    SELECT tid, tgid, 'kernel', 'kernel', NULL, 16 * kernel_ns FROM thread_intervals
    UNION ALL
    SELECT tid, tgid, 'recorder', 'none', NULL, 16 * recorder_ns FROM thread_intervals
    UNION ALL
    SELECT tid, tgid, 'runnable', 'runnable', NULL, 16 * runnable_ns FROM thread_intervals
    UNION ALL
    SELECT
        t.tid, t.tgid, o.class,
        CASE
            WHEN o.class = 'idle' THEN 'asleep'
            WHEN o.class = 'unexplained' AND o.syscall IS NULL THEN 'none'
            ELSE 'waits'
        END,
        CASE WHEN o.class <> 'idle' THEN o.syscall END,
        o.parts
    FROM off_cpu o
    JOIN thread_intervals t ON t.row_id = o.row_id
), summed AS (
    SELECT tid, tgid, class, told_by, syscall, CAST(sum(parts) AS BIGINT) AS parts
    FROM parts
    WHERE parts > 0
    GROUP BY tid, tgid, class, told_by, syscall
), threads_of AS (
    SELECT tid, tgid, class, CAST(sum(parts) AS BIGINT) AS parts FROM summed GROUP BY tid, tgid, class
), budget AS (
    SELECT c.key AS class, CAST(sum(p.thread_ns) AS BIGINT) AS class_ns
    FROM budget_pieces p
    JOIN budget_classes c ON c.class = p.class
    GROUP BY c.key
), running AS (
    SELECT
        t.*,
        b.class_ns,
        CAST(sum(t.parts) OVER (PARTITION BY t.class) AS BIGINT) AS class_parts,
        CAST(
            sum(t.parts) OVER (PARTITION BY t.class ORDER BY t.tid, t.tgid ROWS UNBOUNDED PRECEDING) AS BIGINT
        ) AS upto
    FROM threads_of t
    JOIN budget b ON b.class = t.class
), rounded AS (
    SELECT
        tid, tgid, class, parts,
        -- The last is the whole, without a rounding on the way.
        CASE WHEN upto = class_parts THEN class_ns ELSE CAST(floor(upto * (class_ns / class_parts)) AS BIGINT) END
            - CAST(floor((upto - parts) * (class_ns / class_parts)) AS BIGINT) AS thread_ns
    FROM running
)
SELECT
    s.tid, s.tgid, s.class, s.told_by, s.syscall,
    r.thread_ns,
    s.parts / 16 AS part_ns,
    s.parts / r.parts AS part_share
FROM summed s
JOIN rounded r ON r.tid = s.tid AND r.tgid = s.tgid AND r.class = s.class
