-- title: What a session of a database did in one interval of its thread, by class
-- uses: _sampled_readings, off_cpu, thread_intervals
-- kept: table
-- column row_id: number of the interval in thread_intervals, number
-- column tid: thread, id
-- column class: key of the class, text
-- column ns: time of that class, ns
WITH sessions AS (
    SELECT DISTINCT tid FROM _sampled_readings
), intervals AS (
    SELECT t.* FROM thread_intervals t JOIN sessions s ON s.tid = t.tid
)
SELECT row_id, tid, 'user' AS class, CAST(user_ns AS DOUBLE) AS ns FROM intervals WHERE user_ns > 0
UNION ALL
SELECT row_id, tid, 'kernel', kernel_ns FROM intervals WHERE kernel_ns > 0
UNION ALL
SELECT row_id, tid, 'recorder', recorder_ns FROM intervals WHERE recorder_ns > 0
UNION ALL
SELECT row_id, tid, 'runnable', runnable_ns FROM intervals WHERE runnable_ns > 0
UNION ALL
SELECT i.row_id, i.tid, o.class, sum(o.parts) / 16
FROM off_cpu o
JOIN intervals i ON i.row_id = o.row_id
GROUP BY i.row_id, i.tid, o.class
