-- title: What a nanosecond that stacks of one thread represent is worth, of one class of the budget
-- uses: _sampled_time, _thread_times_by_class, _unsampled_time
-- filtered as: nothing
-- kept: table
-- of_ns * (share * (weight / among_ns)): first among the samples of the thread itself; what they represent beyond it is that of
-- threads which were not sampled as much (many that end after one short call), and is divided among what is left of their time of
-- that kind and call. No stack gets more than it represents, so that what was lost is nobody's.
-- column tid: thread, id
-- column told_by: kind of time, as in _thread_times_by_class, text
-- column syscall: of waits, the call; NULL outside any, text
-- column class: key of the class, text
-- column of_ns: time of the class that is divided, ns
-- column share: part of it, or of the weight, share
-- column among_ns: weights that divide it, ns
WITH rests AS (
    -- Beyond the own thread: of samples what they represent, of classes what has none.
    SELECT *, 1 - least(1, coalesce(kind_ns, 0) / stands_for_ns) AS rest_share FROM _sampled_time
), spare AS (
    SELECT *, sum(stands_for_ns * rest_share) OVER (PARTITION BY told_by, syscall) AS all_rest_ns
    FROM rests
    WHERE rest_share > 0
), left_over AS (
    SELECT told_by, syscall, class, sum(rest_ns) AS class_ns FROM _unsampled_time GROUP BY told_by, syscall, class
), wanted AS (
    SELECT *, sum(class_ns) OVER (PARTITION BY told_by, syscall) AS kind_ns FROM left_over WHERE class_ns > 0
)
SELECT
    c.tid, c.told_by, c.syscall, k.class,
    k.thread_ns AS of_ns, k.part_share AS share, greatest(c.stands_for_ns, c.kind_ns) AS among_ns
FROM _sampled_time c
JOIN _thread_times_by_class k
    ON k.tid = c.tid AND k.told_by = c.told_by AND k.syscall IS NOT DISTINCT FROM c.syscall
UNION ALL
SELECT r.tid, r.told_by, r.syscall, w.class, w.class_ns, r.rest_share, greatest(r.all_rest_ns, w.kind_ns)
FROM spare r
JOIN wanted w ON w.told_by = r.told_by AND w.syscall IS NOT DISTINCT FROM r.syscall
