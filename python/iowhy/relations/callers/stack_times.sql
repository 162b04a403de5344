-- title: Time of one class of the budget that one user stack represents in one call
-- uses: _stack_weights, _weight_scale
-- filtered as: nothing
-- kept: table
-- The same as sample_times, of all samples of a stack together, and rounded once: each of those may have lost a nanosecond. What has
-- no sample is left out.
-- column user_stack_id: the stack; NULL where it could not be read, id
-- column syscall: call that it was in; NULL outside any, text
-- column class: key of the class, text
-- column class_ns: time of that class, ns
SELECT
    w.user_stack_id, w.syscall, s.class,
    CAST(floor(sum(s.of_ns * (s.share * (w.told_ns / s.among_ns)))) AS BIGINT) AS class_ns
FROM _stack_weights w
JOIN _weight_scale s
    ON s.tid = w.tid AND s.told_by = w.told_by AND s.syscall IS NOT DISTINCT FROM w.told_call
GROUP BY w.user_stack_id, w.syscall, s.class
