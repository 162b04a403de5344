-- title: Time that the stacks of one thread represent, of one kind of time and call, next to what the thread has of it
-- uses: _stack_weights, _thread_times_by_class
-- filtered as: nothing
-- kept: table
-- column tid: thread, id
-- column told_by: kind of time, as in _thread_times_by_class, text
-- column syscall: of waits, the call; NULL outside any, text
-- column stands_for_ns: time that its stacks represent, ns
-- column kind_ns: time that the thread has of that kind and call; NULL: none, ns
SELECT w.tid, w.told_by, w.told_call AS syscall, CAST(sum(w.told_ns) AS BIGINT) AS stands_for_ns, max(k.kind_ns) AS kind_ns
FROM _stack_weights w
LEFT JOIN (
    SELECT tid, told_by, syscall, sum(part_ns) AS kind_ns FROM _thread_times_by_class GROUP BY tid, told_by, syscall
) k ON k.tid = w.tid AND k.told_by = w.told_by AND k.syscall IS NOT DISTINCT FROM w.told_call
GROUP BY w.tid, w.told_by, w.told_call
