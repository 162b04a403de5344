-- title: The time in which one device was emptying its cache, by whoever asked for it
-- uses: flushing_spans
-- filtered as: nothing
SELECT dev, false AS asked, CAST(sum(end_ns - begin_ns) AS BIGINT) AS busy_ns
FROM flushing_spans
GROUP BY dev
