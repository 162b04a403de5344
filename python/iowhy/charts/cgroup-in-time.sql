-- title: Limits of the control group
-- question: How often did limits hold the command back in the chosen time?
-- report: cgroup
-- draws: narrowed
-- place: 252
-- needs: cgroup_samples
-- What was added from one reading to the next, by the later one.
-- column path: path of the group, text
-- column periods: periods of the quota, count
-- column stopped_periods: of these, those in which the group was stopped, count
-- column stopped_ns: time that the group was stopped, summed over CPUs, ns
-- column memory_limit_hits: times that the memory limit was met, count
-- column refault_pages: pages of files read again after they were evicted, pages
-- column max_memory_bytes: memory used, most, bytes
-- column max_cached_bytes: of it page cache, most, bytes
SELECT
    path, ts_ns, memory_bytes AS max_memory_bytes, cached_bytes AS max_cached_bytes,
    cpu_periods - lag(cpu_periods) OVER one AS periods,
    cpu_throttled_periods - lag(cpu_throttled_periods) OVER one AS stopped_periods,
    cpu_throttled_ns - lag(cpu_throttled_ns) OVER one AS stopped_ns,
    memory_limit_hits - lag(memory_limit_hits) OVER one AS memory_limit_hits,
    refault_file_pages - lag(refault_file_pages) OVER one AS refault_pages
FROM cgroup_samples
WINDOW one AS (PARTITION BY path ORDER BY ts_ns)
