-- title: The machine
-- question: What did CPUs, run queue, memory and paging do over time?
-- stands in for: vmstat 1, free, mpstat
-- small plots: user_share system_share iowait_share blocked dirty_bytes page_in_bytes_per_s page_out_bytes_per_s over at_s
-- filters: since until
-- column at_s: begin of the interval, after the start of the recording, s
-- column running: runnable threads, mean of the readings, number
-- column blocked: threads in I/O wait, mean of the readings, number
-- column user_share: CPUs in user mode, share
-- column system_share: CPUs in the kernel, interrupts included, share
-- column idle_share: CPUs idle, share
-- column iowait_share: CPUs idle with a thread in I/O wait, share
-- column steal_share: CPUs taken by the hypervisor, share
-- column busiest_cpu_share: the busiest CPU's share of time not idle, share
-- column page_in_bytes_per_s: read from block devices, bytes/s
-- column page_out_bytes_per_s: written to block devices, bytes/s
-- column swap_in_pages_per_s: read from swap, 1/s
-- column swap_out_pages_per_s: written to swap, 1/s
-- column zswap_in_pages_per_s: taken back from memory that zswap compressed; NULL where the kernel does not count them, 1/s
-- column zswap_out_pages_per_s: compressed by zswap in place of being written to swap, 1/s
-- column switches_per_s: context switches, 1/s
-- column forks_per_s: processes and threads started, 1/s
-- column major_faults_per_s: page faults that had to read, 1/s
-- column direct_scan_pages_per_s: pages scanned by threads that reclaim for themselves, 1/s
-- column free_bytes: memory not used at all, bytes
-- column cached_bytes: page cache, bytes
-- column available_bytes: memory that can be had without swapping, bytes
-- column dirty_bytes: pages waiting to be written, bytes
-- column writeback_bytes: pages being written, bytes
-- Counters are differences between the last readings of two neighbouring intervals.
WITH cpu_last AS (
    SELECT
        c.cpu,
        CAST(floor((c.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
        max(c.ts_ns) AS ts_ns,
        max(c.user_ns) AS user_ns,
        max(c.system_ns) AS system_ns,
        max(c.idle_ns) AS idle_ns,
        max(c.iowait_ns) AS iowait_ns,
        max(c.irq_ns) AS irq_ns,
        max(c.steal_ns) AS steal_ns
    FROM cpu_samples c
    CROSS JOIN recording r
    GROUP BY 1, 2
), cpu_steps AS (
    SELECT
        cpu,
        slice,
        user_ns - lag(user_ns) OVER w AS user_ns,
        system_ns - lag(system_ns) OVER w AS system_ns,
        idle_ns - lag(idle_ns) OVER w AS idle_ns,
        -- The kernel lets this counter fall when a waiting thread is moved to another CPU.
        CASE
            WHEN iowait_ns - lag(iowait_ns) OVER w < 0 THEN 0
            ELSE iowait_ns - lag(iowait_ns) OVER w
        END AS iowait_ns,
        coalesce(irq_ns - lag(irq_ns) OVER w, 0) AS irq_ns,
        steal_ns - lag(steal_ns) OVER w AS steal_ns
    FROM cpu_last
    WINDOW w AS (PARTITION BY cpu ORDER BY ts_ns)
), cpu_all AS (
    SELECT
        cpu,
        slice,
        user_ns,
        system_ns + irq_ns AS system_ns,
        idle_ns,
        iowait_ns,
        steal_ns,
        nullif(user_ns + system_ns + irq_ns + idle_ns + coalesce(iowait_ns, 0) + coalesce(steal_ns, 0), 0) AS all_ns
    FROM cpu_steps
), machine AS (
    SELECT * FROM cpu_all WHERE cpu = -1 AND all_ns IS NOT NULL
), busiest AS (
    SELECT slice, max((all_ns - idle_ns - coalesce(iowait_ns, 0)) / all_ns) AS busiest_cpu_share
    FROM cpu_all
    WHERE cpu >= 0
    GROUP BY slice
), vm_last AS (
    SELECT
        CAST(floor((v.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
        max(v.ts_ns) AS ts_ns,
        avg(v.procs_running) AS running,
        avg(v.procs_blocked) AS blocked,
        max(v.context_switches) AS context_switches,
        max(v.forks) AS forks,
        max(v.page_in_bytes) AS page_in_bytes,
        max(v.page_out_bytes) AS page_out_bytes,
        max(v.swap_in_pages) AS swap_in_pages,
        max(v.swap_out_pages) AS swap_out_pages,
        max(v.zswap_in_pages) AS zswap_in_pages,
        max(v.zswap_out_pages) AS zswap_out_pages,
        max(v.major_faults) AS major_faults,
        max(v.direct_scan_pages) AS direct_scan_pages
    FROM vm_samples v
    CROSS JOIN recording r
    GROUP BY 1
), vm AS (
    SELECT
        slice,
        running,
        blocked,
        nullif(ts_ns - lag(ts_ns) OVER w, 0) / 1e9 AS span_s,
        context_switches - lag(context_switches) OVER w AS context_switches,
        forks - lag(forks) OVER w AS forks,
        page_in_bytes - lag(page_in_bytes) OVER w AS page_in_bytes,
        page_out_bytes - lag(page_out_bytes) OVER w AS page_out_bytes,
        swap_in_pages - lag(swap_in_pages) OVER w AS swap_in_pages,
        swap_out_pages - lag(swap_out_pages) OVER w AS swap_out_pages,
        zswap_in_pages - lag(zswap_in_pages) OVER w AS zswap_in_pages,
        zswap_out_pages - lag(zswap_out_pages) OVER w AS zswap_out_pages,
        major_faults - lag(major_faults) OVER w AS major_faults,
        direct_scan_pages - lag(direct_scan_pages) OVER w AS direct_scan_pages
    FROM vm_last
    WINDOW w AS (ORDER BY ts_ns)
), memory AS (
    SELECT
        CAST(floor((m.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
        arg_max(m.free_bytes, m.ts_ns) AS free_bytes,
        arg_max(m.cached_bytes, m.ts_ns) AS cached_bytes,
        arg_max(m.available_bytes, m.ts_ns) AS available_bytes,
        arg_max(m.dirty_bytes, m.ts_ns) AS dirty_bytes,
        arg_max(m.writeback_bytes, m.ts_ns) AS writeback_bytes
    FROM memory_samples m
    CROSS JOIN recording r
    GROUP BY 1
), slices AS (
    SELECT slice FROM machine
    UNION
    SELECT slice FROM busiest
    UNION
    SELECT slice FROM vm
    UNION
    SELECT slice FROM memory
)
SELECT
    s.slice * r.slice_ns / 1e9 AS at_s,
    v.running,
    v.blocked,
    c.user_ns / c.all_ns AS user_share,
    c.system_ns / c.all_ns AS system_share,
    c.idle_ns / c.all_ns AS idle_share,
    c.iowait_ns / c.all_ns AS iowait_share,
    c.steal_ns / c.all_ns AS steal_share,
    b.busiest_cpu_share,
    v.page_in_bytes / v.span_s AS page_in_bytes_per_s,
    v.page_out_bytes / v.span_s AS page_out_bytes_per_s,
    v.swap_in_pages / v.span_s AS swap_in_pages_per_s,
    v.swap_out_pages / v.span_s AS swap_out_pages_per_s,
    v.zswap_in_pages / v.span_s AS zswap_in_pages_per_s,
    v.zswap_out_pages / v.span_s AS zswap_out_pages_per_s,
    v.context_switches / v.span_s AS switches_per_s,
    v.forks / v.span_s AS forks_per_s,
    v.major_faults / v.span_s AS major_faults_per_s,
    v.direct_scan_pages / v.span_s AS direct_scan_pages_per_s,
    m.free_bytes,
    m.cached_bytes,
    m.available_bytes,
    m.dirty_bytes,
    m.writeback_bytes
FROM slices s
CROSS JOIN recording r
LEFT JOIN machine c ON c.slice = s.slice
LEFT JOIN busiest b ON b.slice = s.slice
LEFT JOIN vm v ON v.slice = s.slice
LEFT JOIN memory m ON m.slice = s.slice
ORDER BY at_s
