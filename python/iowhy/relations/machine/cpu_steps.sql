-- title: What one CPU did between two readings, and all of them together (-1)
-- uses: cpu_samples
-- filtered as: cpu_samples
-- The kernel lets the counter of I/O wait fall when a waiting thread is moved to another CPU: less than nothing
-- is taken for nothing.
-- column cpu: CPU, -1 for all together, number
-- column before_ns: the earlier reading, ns
-- column ts_ns: the later reading, ns
-- column user_ns: outside the kernel, ns
-- column system_ns: in the kernel, interrupts included, ns
-- column irq_ns: of that, in interrupts; NULL if not distinguished, ns
-- column idle_ns: idle, ns
-- column iowait_ns: idle with a thread in I/O wait; NULL if not distinguished, ns
-- column steal_ns: taken by the hypervisor; NULL if not reported, ns
-- column busy_ns: user, system and steal, ns
-- column free_ns: idle and I/O wait, ns
-- column all_ns: both, ns
WITH changes AS (
    SELECT
        cpu,
        lag(ts_ns) OVER one AS before_ns,
        ts_ns,
        user_ns - lag(user_ns) OVER one AS user_ns,
        system_ns + coalesce(irq_ns, 0) - lag(system_ns + coalesce(irq_ns, 0)) OVER one AS system_ns,
        irq_ns - lag(irq_ns) OVER one AS irq_ns,
        idle_ns - lag(idle_ns) OVER one AS idle_ns,
        iowait_ns - lag(iowait_ns) OVER one AS iowait_ns,
        steal_ns - lag(steal_ns) OVER one AS steal_ns
    FROM cpu_samples
    WINDOW one AS (PARTITION BY cpu ORDER BY ts_ns)
), positive AS (
    SELECT
        cpu,
        before_ns,
        ts_ns,
        greatest(user_ns, 0) AS user_ns,
        greatest(system_ns, 0) AS system_ns,
        greatest(idle_ns, 0) AS idle_ns,
        -- greatest() passes over NULL.
        CASE WHEN irq_ns IS NOT NULL THEN greatest(irq_ns, 0) END AS irq_ns,
        CASE WHEN iowait_ns IS NOT NULL THEN greatest(iowait_ns, 0) END AS iowait_ns,
        CASE WHEN steal_ns IS NOT NULL THEN greatest(steal_ns, 0) END AS steal_ns
    FROM changes
    WHERE user_ns IS NOT NULL
)
SELECT
    *,
    user_ns + system_ns + coalesce(steal_ns, 0) AS busy_ns,
    idle_ns + coalesce(iowait_ns, 0) AS free_ns,
    user_ns + system_ns + coalesce(steal_ns, 0) + idle_ns + coalesce(iowait_ns, 0) AS all_ns
FROM positive
