-- title: A stretch of time in which a device was emptying its cache, overlapping flushes taken once
-- uses: flush_requests
-- filtered as: nothing
-- column dev: block device, id
-- column begin_ns: from here, ns
-- column end_ns: to here, ns
SELECT dev, greatest(begin_ns, coalesce(before_ns, begin_ns)) AS begin_ns, complete_ns AS end_ns
FROM (
    SELECT
        dev,
        begin_ns,
        complete_ns,
        max(complete_ns) OVER (
            PARTITION BY dev ORDER BY begin_ns, complete_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM flush_requests
    WHERE complete_ns IS NOT NULL
) AS f
WHERE complete_ns > coalesce(before_ns, begin_ns)
