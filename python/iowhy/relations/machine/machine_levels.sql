-- title: One row: how the machine's CPUs were used, its run queue and its paging, over all readings
-- uses: cpu_steps, vm_samples
-- filtered as: nothing
-- kept: table
-- Shares are of the CPUs' time; levels are means over the time, each reading for that since the one before (the first for
-- that until the next): a machine at rest is read less often.
-- column user_share: outside the kernel, share
-- column system_share: in the kernel, interrupts included, share
-- column interrupt_share: in interrupts; NULL if not distinguished, share
-- column idle_share: idle, share
-- column iowait_share: idle with a thread in I/O wait; NULL if not distinguished, share
-- column steal_share: taken by the hypervisor; NULL if not reported, share
-- column busy_share: user, system and steal, share
-- column busiest_share: of the busiest CPU alone, user, system and steal, share
-- column saturated_share: of the time, intervals between readings in which nine tenths of the CPUs were busy, share
-- column samples: intervals between readings of all CPUs, count
-- column runnable: threads running or ready, number
-- column most_runnable: the most of them in any reading, number
-- column blocked: threads in uninterruptible I/O wait, number
-- column blocked_share: of the time, readings with any of these, share
-- column swap_pages: pages that came from swap and went to it, those that zswap keeps compressed in memory too, pages
-- column direct_scan_pages: pages scanned by threads that reclaim for themselves, pages
-- column refault_file_pages: pages of files read again after they were evicted, pages
-- column page_in_bytes: read from block devices, bytes
-- column page_out_bytes: written to block devices, bytes
WITH used AS (
    SELECT
        cpu,
        sum(user_ns) / sum(all_ns) AS user_share,
        sum(system_ns) / sum(all_ns) AS system_share,
        sum(irq_ns) / sum(all_ns) AS interrupt_share,
        sum(idle_ns) / sum(all_ns) AS idle_share,
        sum(iowait_ns) / sum(all_ns) AS iowait_share,
        sum(steal_ns) / sum(all_ns) AS steal_share,
        sum(busy_ns) / sum(all_ns) AS busy_share,
        sum(CASE WHEN busy_ns >= 0.9 * all_ns THEN ts_ns - before_ns ELSE 0 END)
            / sum(ts_ns - before_ns) AS saturated_share,
        count(*) AS samples
    FROM cpu_steps
    WHERE all_ns > 0
    GROUP BY cpu
), cpus AS (
    SELECT
        max(CASE WHEN cpu = -1 THEN user_share END) AS user_share,
        max(CASE WHEN cpu = -1 THEN system_share END) AS system_share,
        max(CASE WHEN cpu = -1 THEN interrupt_share END) AS interrupt_share,
        max(CASE WHEN cpu = -1 THEN idle_share END) AS idle_share,
        max(CASE WHEN cpu = -1 THEN iowait_share END) AS iowait_share,
        max(CASE WHEN cpu = -1 THEN steal_share END) AS steal_share,
        max(CASE WHEN cpu = -1 THEN busy_share END) AS busy_share,
        max(CASE WHEN cpu >= 0 THEN busy_share END) AS busiest_share,
        max(CASE WHEN cpu = -1 THEN saturated_share END) AS saturated_share,
        max(CASE WHEN cpu = -1 THEN samples END) AS samples
    FROM used
), timed AS (
    SELECT
        *,
        -- A number with a fraction: what another tool printed may be as large as it likes.
        CAST(greatest(coalesce(ts_ns - lag(ts_ns) OVER w, (lead(ts_ns) OVER w) - ts_ns, 1), 1) AS DOUBLE) AS span_ns
    FROM vm_samples
    WINDOW w AS (ORDER BY ts_ns)
), levels AS (
    SELECT
        sum(procs_running * span_ns) / sum(CASE WHEN procs_running IS NOT NULL THEN span_ns END) AS runnable,
        max(procs_running) AS most_runnable,
        sum(procs_blocked * span_ns) / sum(CASE WHEN procs_blocked IS NOT NULL THEN span_ns END) AS blocked,
        sum(CASE WHEN procs_blocked > 0 THEN span_ns WHEN procs_blocked = 0 THEN 0 END)
            / sum(CASE WHEN procs_blocked IS NOT NULL THEN span_ns END) AS blocked_share,
        max(swap_in_pages) - min(swap_in_pages)
            + coalesce(max(swap_out_pages) - min(swap_out_pages), 0)
            + coalesce(max(zswap_in_pages) - min(zswap_in_pages), 0)
            + coalesce(max(zswap_out_pages) - min(zswap_out_pages), 0) AS swap_pages,
        max(direct_scan_pages) - min(direct_scan_pages) AS direct_scan_pages,
        max(refault_file_pages) - min(refault_file_pages) AS refault_file_pages,
        max(page_in_bytes) - min(page_in_bytes) AS page_in_bytes,
        max(page_out_bytes) - min(page_out_bytes) AS page_out_bytes
    FROM timed
)
SELECT c.*, l.* FROM cpus c CROSS JOIN levels l
