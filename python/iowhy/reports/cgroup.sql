-- title: Limits of the control group
-- question: Which limits did the command's control groups have, and how often did they hold it back?
-- stands in for: systemd-cgtop, cat cpu.stat memory.events io.max
-- filters: since until
-- about: path quota_cores stopped_ns stopped_share memory_limit_bytes memory_bytes memory_limit_hits
-- column path: path of the group, text
-- column quota_cores: CPUs that the group may use, the tightest, number
-- column periods: periods of the quota, count
-- column stopped_periods: of these, those in which the group was stopped, count
-- column stopped_periods_share: stopped periods of all, share
-- column stopped_ns: time that the group was stopped, summed over CPUs, ns
-- column stopped_share: stopped time over the time between the readings, share
-- column memory_limit_bytes: memory limit in force, the tightest, bytes
-- column memory_limit_hits: times that the limit was met, count
-- column memory_bytes: memory used, most, bytes
-- column cached_bytes: of it page cache, most, bytes
-- column refault_pages: pages of files read again after they were evicted, pages
-- column read_limit_bytes_per_s: limit on reads, the tightest on any device, bytes/s
-- column write_limit_bytes_per_s: limit on writes, the tightest on any device, bytes/s
-- column read_limit_per_s: limit on the number of reads, the tightest on any device, 1/s
-- column write_limit_per_s: limit on the number of writes, the tightest on any device, 1/s
SELECT
    path,
    quota_cores,
    periods,
    stopped_periods,
    stopped_periods_share,
    stopped_ns,
    stopped_share,
    memory_limit_bytes,
    memory_limit_hits,
    memory_bytes,
    cached_bytes,
    refault_pages,
    read_limit_bytes_per_s,
    write_limit_bytes_per_s,
    read_limit_per_s,
    write_limit_per_s
FROM group_totals
ORDER BY path
