-- title: Time that one stack of one thread represents, of one kind of time
-- uses: _sample_weights
-- filtered as: nothing
-- kept: table
-- Samples are many, of few threads, calls and stacks.
-- column tid: thread, id
-- column told_by: kind of time, as in _thread_times_by_class, text
-- column told_call: of waits in a call, the call, text
-- column syscall: call that it was in; NULL outside any, text
-- column user_stack_id: the stack; NULL where it could not be read, id
-- column told_ns: time of that kind, ns
SELECT tid, told_by, told_call, syscall, user_stack_id, CAST(sum(told_ns) AS BIGINT) AS told_ns
FROM _sample_weights
GROUP BY tid, told_by, told_call, syscall, user_stack_id
