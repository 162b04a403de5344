-- title: The time in which one device was emptying its cache, for anybody
-- uses: flush_sums, flushing_sums
-- filtered as: nothing
-- column dev: block device, id
-- column busy_ns: with at least one flush under way, ns
SELECT dev, busy_ns
FROM flushing_sums
WHERE NOT asked OR dev NOT IN (SELECT dev FROM flush_sums WHERE NOT asked)
