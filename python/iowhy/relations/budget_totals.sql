-- title: One row: what the pieces of the time budget add up to
-- column thread_ns: time of all threads; NULL where nothing counts threads, ns
-- column elapsed_ns: the elapsed time; NULL where it is not known, ns
-- column elapsed_parts: what the elapsed_parts of budget_sums stand for all together, number
-- when thread_time and elapsed
SELECT
    (SELECT
        CAST(sum(user_ns + kernel_ns + recorder_ns + runnable_ns + blocked_ns + sleeping_ns + unseen_ns) AS BIGINT)
    FROM thread_rows) AS thread_ns,
    elapsed_ns,
    elapsed_ns * 16 AS elapsed_parts
FROM recording
-- else
SELECT
    CAST(sum(s.thread_parts) // 16 AS BIGINT) AS thread_ns,
    nullif(max(r.elapsed_ns), 0) AS elapsed_ns,
    CAST(sum(s.elapsed_parts) AS BIGINT) AS elapsed_parts
FROM pasted_sums s
CROSS JOIN recording r
