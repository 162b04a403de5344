-- title: One row: what other tools' texts say of time adds up to
-- uses: pasted_sums, recording
-- column thread_ns: time of all threads; NULL where nothing counts threads, ns
-- column elapsed_ns: the elapsed time; NULL if not known, ns
-- column elapsed_parts: what the elapsed_parts of pasted_sums represent all together, number
SELECT
    CAST(sum(s.thread_parts) // 16 AS BIGINT) AS thread_ns,
    nullif(max(r.elapsed_ns), 0) AS elapsed_ns,
    CAST(sum(s.elapsed_parts) AS BIGINT) AS elapsed_parts
FROM pasted_sums s
CROSS JOIN recording r
