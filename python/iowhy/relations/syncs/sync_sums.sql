-- title: One row: all sync calls together, and the time in which at least one thread was inside one
-- uses: sync_calls
-- sync_calls says what a sync call is.
WITH in_order AS (
    SELECT ts_ns, end_ns FROM sync_calls ORDER BY ts_ns
), reached AS (
    SELECT ts_ns, end_ns, max(end_ns) OVER (ROWS UNBOUNDED PRECEDING) AS upto FROM in_order
), steps AS (
    SELECT ts_ns, end_ns, lag(upto) OVER () AS before FROM reached
)
SELECT
    count(*) AS calls,
    CAST(sum(greatest(0, end_ns - greatest(ts_ns, coalesce(before, ts_ns)))) AS BIGINT) AS wall_ns
FROM steps
