-- title: One row: what the pieces of the time budget add up to
-- uses: recording, thread_intervals
-- Where no thread was timed it is pasted_totals.
-- column thread_ns: time of all threads; NULL where nothing counts threads, ns
-- column elapsed_ns: the elapsed time; NULL if not known, ns
-- column elapsed_parts: what the elapsed_parts of budget_sums represent all together, number
SELECT
    (SELECT
        CAST(sum(user_ns + kernel_ns + recorder_ns + runnable_ns + blocked_ns + sleeping_ns + unseen_ns) AS BIGINT)
    FROM thread_intervals) AS thread_ns,
    elapsed_ns,
    elapsed_ns * 16 AS elapsed_parts
FROM recording
