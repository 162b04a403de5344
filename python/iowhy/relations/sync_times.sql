-- title: One row: the time in which at least one thread was inside a sync call
-- As the recorder summed it up; else by the rows. What a sync call is stands in sync_calls.
-- column wall_ns: time with at least one under way; NULL without any, ns
-- when sync_sums
SELECT CASE WHEN calls > 0 THEN wall_ns END AS wall_ns FROM sync_sums
-- else
WITH in_order AS (
    SELECT ts_ns, end_ns FROM sync_calls ORDER BY ts_ns
), reached AS (
    SELECT ts_ns, end_ns, max(end_ns) OVER (ROWS UNBOUNDED PRECEDING) AS upto FROM in_order
), steps AS (
    SELECT ts_ns, end_ns, lag(upto) OVER () AS before FROM reached
)
SELECT CAST(sum(greatest(0, end_ns - greatest(ts_ns, coalesce(before, ts_ns)))) AS BIGINT) AS wall_ns FROM steps
