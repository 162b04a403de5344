-- title: The machine
-- question: What did CPUs, run queue, memory and paging do over time?
-- stands in for: vmstat 1, free, mpstat
-- small plots: user_share system_share iowait_share blocked dirty_bytes page_in_bytes_per_s page_out_bytes_per_s over at_s
-- filters: since until
-- about: at_s user_share system_share iowait_share blocked page_in_bytes_per_s page_out_bytes_per_s
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
WITH slices AS (
    SELECT slice FROM cpu_slices
    UNION
    SELECT slice FROM vm_slices
    UNION
    SELECT slice FROM memory_slices
), busiest AS (
    SELECT slice, max(busy_share) AS busy_share FROM cpu_slices WHERE cpu >= 0 GROUP BY slice
)
SELECT
    s.slice * r.slice_ns / 1e9 AS at_s,
    v.running,
    v.blocked,
    c.user_share,
    c.system_share,
    c.idle_share,
    c.iowait_share,
    c.steal_share,
    b.busy_share AS busiest_cpu_share,
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
LEFT JOIN cpu_slices c ON c.slice = s.slice AND c.cpu = -1
LEFT JOIN busiest b ON b.slice = s.slice
LEFT JOIN vm_slices v ON v.slice = s.slice
LEFT JOIN memory_slices m ON m.slice = s.slice
ORDER BY at_s
