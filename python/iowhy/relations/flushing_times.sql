-- title: The time in which one device was emptying its cache, for anybody
-- filtered as: nothing
-- As the recorder summed it up; else by the rows.
-- column dev: block device, id
-- column busy_ns: with at least one flush under way, ns
-- when flushing_sums
SELECT dev, busy_ns
FROM main.flushing_sums
WHERE NOT asked OR dev NOT IN (SELECT dev FROM main.flush_sums WHERE NOT asked)
-- else
SELECT dev, CAST(sum(end_ns - begin_ns) AS BIGINT) AS busy_ns FROM main.flushing_spans GROUP BY dev
