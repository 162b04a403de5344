-- title: Functions, by sampled stacks
-- question: Which functions take the time themselves, and with what they call, by class of the time budget?
-- stands in for: perf report, gprof
-- about: function total_ns self_ns class share_of_class
-- column function: function; what has no name is its module and the address in it; also `not sampled`, and `stack not read`, text
-- column module: file or memory that it is in, text
-- column class: class of the time budget, text
-- column self_ns: time while it was the innermost function, ns
-- column total_ns: time while it, or what it called, was at work, ns
-- column share_of_class: total_ns of all threads' time of the class, with what was not sampled, share
-- A function that is in a stack more than once counts once. self_ns of a class adds up to that class of the budget where
-- nothing is filtered.
WITH inside AS (
    SELECT user_stack_id, name, max(module) AS module, min(depth) AS depth
    FROM named_frames
    GROUP BY user_stack_id, name
), innermost AS (
    SELECT user_stack_id, min(depth) AS depth FROM named_frames GROUP BY user_stack_id
), listed AS (
    SELECT
        i.name AS function,
        i.module,
        t.class,
        sum(CASE WHEN i.depth = m.depth THEN t.class_ns ELSE 0 END) AS self_ns,
        sum(t.class_ns) AS total_ns
    FROM path_times t
    JOIN inside i ON i.user_stack_id = t.user_stack_id
    JOIN innermost m ON m.user_stack_id = t.user_stack_id
    GROUP BY i.name, i.module, t.class
    UNION ALL
    SELECT t.path, NULL, t.class, sum(t.class_ns), sum(t.class_ns)
    FROM path_times t
    LEFT JOIN innermost m ON m.user_stack_id = t.user_stack_id
    WHERE m.user_stack_id IS NULL
    GROUP BY t.path, t.class
), classes_of AS (
    SELECT class, sum(class_ns) AS class_ns FROM path_times GROUP BY class
)
SELECT
    l.function,
    l.module,
    c.class,
    CAST(l.self_ns AS BIGINT) AS self_ns,
    CAST(l.total_ns AS BIGINT) AS total_ns,
    l.total_ns / k.class_ns AS share_of_class
FROM listed l
JOIN classes_of k ON k.class = l.class
JOIN budget_classes c ON c.key = l.class
ORDER BY
    CASE WHEN l.function = 'not sampled' THEN 1 ELSE 0 END,
    CASE WHEN l.class = 'idle' THEN 1 ELSE 0 END,
    total_ns DESC, self_ns DESC, l.function, l.module, c.place
