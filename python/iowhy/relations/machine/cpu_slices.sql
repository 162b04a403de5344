-- title: What one CPU did in an interval of the recording's charts, and all of them together (-1)
-- uses: cpu_steps, recording
-- Of the readings whose later one is in it.
-- column slice: number of the interval, number
-- column cpu: CPU, -1 for all together, number
-- column user_share: outside the kernel, share
-- column system_share: in the kernel, interrupts included, share
-- column idle_share: idle, share
-- column iowait_share: idle with a thread in I/O wait; NULL if not distinguished, share
-- column steal_share: taken by the hypervisor; NULL if not reported, share
-- column busy_share: user, system and steal, share
SELECT
    CAST(floor((s.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
    s.cpu,
    sum(s.user_ns) / sum(s.all_ns) AS user_share,
    sum(s.system_ns) / sum(s.all_ns) AS system_share,
    sum(s.idle_ns) / sum(s.all_ns) AS idle_share,
    sum(s.iowait_ns) / sum(s.all_ns) AS iowait_share,
    sum(s.steal_ns) / sum(s.all_ns) AS steal_share,
    sum(s.busy_ns) / sum(s.all_ns) AS busy_share
FROM cpu_steps s
CROSS JOIN recording r
WHERE s.all_ns > 0
GROUP BY 1, s.cpu
