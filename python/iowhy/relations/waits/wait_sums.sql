-- title: The sums of the waits of one thread for one reason in one call on one filesystem, as the rows have them
-- uses: waits
-- filtered as: nothing
-- kept: table
SELECT tgid, tid, reason, syscall, io, dev, count(*) AS count, sum(dur_ns) AS total_ns, max(dur_ns) AS max_ns
FROM waits
WHERE dur_ns > 0
GROUP BY tgid, tid, reason, syscall, io, dev
