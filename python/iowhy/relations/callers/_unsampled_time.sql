-- title: A thread's time of one class, and how much of it its own stacks do not represent
-- uses: _sampled_time, _thread_times_by_class
-- filtered as: nothing
-- kept: table
-- column tid: thread, id
-- column tgid: process, id
-- column told_by: kind of time, as in _thread_times_by_class, text
-- column syscall: of waits, the call; NULL outside any, text
-- column class: key of the class, text
-- column thread_ns: the thread's time of the class, of all kinds and calls, ns
-- column rest_ns: of the part of this kind and call, what has no stack of the thread's own, before rounding, ns
SELECT
    k.tid, k.tgid, k.told_by, k.syscall, k.class, k.thread_ns,
    k.thread_ns * (k.part_share * (1 - least(1, coalesce(c.stands_for_ns, 0) / k.kind_ns))) AS rest_ns
FROM (
    -- The classes of one kind share its samples.
    SELECT *, sum(part_ns) OVER (PARTITION BY tid, told_by, syscall) AS kind_ns FROM _thread_times_by_class
) k
LEFT JOIN _sampled_time c
    ON c.tid = k.tid AND c.told_by = k.told_by AND c.syscall IS NOT DISTINCT FROM k.syscall
