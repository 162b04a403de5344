-- title: The limits of one control group, and how often they held it back
-- uses: cgroup_samples
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
    min(cpu_quota_cores) AS quota_cores,
    max(cpu_periods) - min(cpu_periods) AS periods,
    max(cpu_throttled_periods) - min(cpu_throttled_periods) AS stopped_periods,
    (max(cpu_throttled_periods) - min(cpu_throttled_periods))
        / nullif(max(cpu_periods) - min(cpu_periods), 0) AS stopped_periods_share,
    max(cpu_throttled_ns) - min(cpu_throttled_ns) AS stopped_ns,
    (max(cpu_throttled_ns) - min(cpu_throttled_ns)) / nullif(max(ts_ns) - min(ts_ns), 0)
        AS stopped_share,
    min(memory_limit_bytes) AS memory_limit_bytes,
    max(memory_limit_hits) - min(memory_limit_hits) AS memory_limit_hits,
    max(memory_bytes) AS memory_bytes,
    max(cached_bytes) AS cached_bytes,
    max(refault_file_pages) - min(refault_file_pages) AS refault_pages,
    min(io_limit_read_bytes_per_s) AS read_limit_bytes_per_s,
    min(io_limit_write_bytes_per_s) AS write_limit_bytes_per_s,
    min(io_limit_read_ops_per_s) AS read_limit_per_s,
    min(io_limit_write_ops_per_s) AS write_limit_per_s
FROM cgroup_samples
GROUP BY path
