-- title: Time of one class of the budget on one path of a program's functions
-- uses: sample_times, user_paths
-- column path: functions, the innermost first (user_paths); also `not sampled`, and `stack not read`, text
-- column user_stack_id: the stack; NULL where it could not be read, or was not sampled, id
-- column class: key of the class of the time budget, text
-- column class_ns: time of all threads, ns
SELECT
    CASE WHEN s.kind IS NULL THEN 'not sampled' ELSE coalesce(p.path, 'stack not read') END AS path,
    s.user_stack_id,
    s.class,
    sum(s.class_ns) AS class_ns
FROM sample_times s
LEFT JOIN user_paths p ON p.user_stack_id = s.user_stack_id
GROUP BY 1, s.user_stack_id, s.class
