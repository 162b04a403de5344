-- title: Limits of the control group
-- question: How often did limits hold the command back in the chosen time?
-- report: cgroup
-- draws: narrowed
-- place: 252
-- needs: cgroup_samples
-- What was added from one reading to the next, by the later one.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column path: path of the group, text
-- column periods: periods of the quota, count
-- column stopped_periods: of these, those in which the group was stopped, count
-- column stopped_ns: time that the group was stopped, summed over CPUs, ns
-- column memory_limit_hits: times that the memory limit was met, count
-- column refault_pages: pages of files read again after they were evicted, pages
-- column max_memory_bytes: memory used, most, bytes
-- column max_cached_bytes: of it page cache, most, bytes
WITH steps AS (
    SELECT
        path, ts_ns, memory_bytes, cached_bytes,
        cpu_periods - lag(cpu_periods) OVER one AS periods,
        cpu_throttled_periods - lag(cpu_throttled_periods) OVER one AS stopped_periods,
        cpu_throttled_ns - lag(cpu_throttled_ns) OVER one AS stopped_ns,
        memory_limit_hits - lag(memory_limit_hits) OVER one AS memory_limit_hits,
        refault_file_pages - lag(refault_file_pages) OVER one AS refault_pages
    FROM cgroup_samples
    WINDOW one AS (PARTITION BY path ORDER BY ts_ns)
)
SELECT
    greatest(least((g.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    g.path,
    CAST(sum(g.periods) AS BIGINT) AS periods,
    CAST(sum(g.stopped_periods) AS BIGINT) AS stopped_periods,
    CAST(sum(g.stopped_ns) AS BIGINT) AS stopped_ns,
    CAST(sum(g.memory_limit_hits) AS BIGINT) AS memory_limit_hits,
    CAST(sum(g.refault_pages) AS BIGINT) AS refault_pages,
    max(g.memory_bytes) AS max_memory_bytes,
    max(g.cached_bytes) AS max_cached_bytes
FROM steps g
CROSS JOIN chart_cells c
GROUP BY greatest(least((g.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), g.path
ORDER BY g.path, at_s
