-- title: Run queue, switches and paging of the machine in an interval of the recording's charts
-- uses: recording, vm_samples
-- Levels are means over its readings; counters are differences between the last readings of two neighbouring intervals.
-- column slice: number of the interval, number
-- column running: runnable threads, number
-- column blocked: threads in I/O wait, number
-- column span_s: from the last reading of the interval before to the last one of this, s
-- column context_switches: context switches, count
-- column forks: processes and threads started, count
-- column page_in_bytes: read from block devices, bytes
-- column page_out_bytes: written to block devices, bytes
-- column swap_in_pages: read from swap, pages
-- column swap_out_pages: written to swap, pages
-- column zswap_in_pages: taken back from memory that zswap compressed; NULL where the kernel does not count them, pages
-- column zswap_out_pages: compressed by zswap in place of being written to swap, pages
-- column major_faults: page faults that had to read, count
-- column direct_scan_pages: pages scanned by threads that reclaim for themselves, pages
WITH last_readings AS (
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
)
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
FROM last_readings
WINDOW w AS (ORDER BY ts_ns)
