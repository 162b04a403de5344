-- title: One row: the machine's CPUs in place of threads, from what vmstat, iostat and the like print
-- uses: cpu_count, cpu_limits, cpu_steps, machine_levels, measurements, traffic_direction, vm_samples
-- kept: table
-- filtered as: nothing
-- A busy CPU represents a thread at work, one in iowait one that waits. One task that always waits makes one
-- of four CPUs wait, and so do many that wait now and then: it is taken for one where a device that is busy all the
-- time shows that, or processes that are blocked. What little is computed where the machine idles for four
-- fifths may be many programs': it fills no CPU, unless a process is seen to. Systems without iowait (BSD):
-- CPU time left idle while processes are blocked and none waits to run is time that storage costs, and where
-- mostly some are blocked and never one waits to run, these are the threads. No row without readings.
-- column cpus: CPUs, as reported or as the figures fit; NULL where neither says, count
-- column fitted: the number of CPUs is not reported, but a steady load of 1/n with processes waiting to run fits n, bool
-- column user_cpus: CPUs busy outside the kernel, NULL without readings, number
-- column busy_cpus: busy CPUs, number
-- column waiting_cpus: CPUs, or processes, that wait for storage, number
-- column iowait: whether CPUs are seen to wait for I/O, bool
-- column runnable: processes running or ready, on average; NULL when not printed, number
-- column mode: how the CPUs are used: serial, saturated, parallel or unknown, text
WITH levels AS (
    SELECT
        user_share,
        busy_share,
        idle_share,
        runnable,
        most_runnable,
        blocked,
        blocked_share,
        idle_share + coalesce(iowait_share, 0) AS free_share,
        coalesce(iowait_share, 0) AS seen_iowait_share
    FROM machine_levels
    WHERE busy_share IS NOT NULL
), fits AS (
    SELECT min(n) AS cpus
    FROM (VALUES (2), (4), (8)) AS f(n)
    CROSS JOIN levels s
    CROSS JOIN cpu_limits l
    -- More processes that run or are ready than CPUs leave none idle.
    WHERE s.runnable >= 0.5 AND s.runnable <= n AND s.busy_share * n BETWEEN l.saturated_share AND l.serial_cores
), busiest AS (
    SELECT max(cpu_share) AS cpu_share
    FROM (
        SELECT avg(value) AS cpu_share
        FROM measurements
        WHERE metric = 'cpu_share'
        GROUP BY lower(tool), subject
    ) AS m
), counted AS (
    SELECT
        s.*,
        coalesce(c.cpus, f.cpus) AS cpus,
        coalesce(c.cpus, f.cpus, 1) AS n,
        c.cpus IS NULL AND f.cpus IS NOT NULL AS fitted,
        l.serial_cores, l.saturated_share
    FROM levels s
    CROSS JOIN cpu_count c
    CROSS JOIN fits f
    CROSS JOIN cpu_limits l
), seen AS (
    SELECT
        c.*,
        CASE
            WHEN coalesce(d.busy_share, c.blocked) IS NOT NULL THEN least(
                c.seen_iowait_share * c.n,
                greatest(c.seen_iowait_share, coalesce(d.busy_share, least(1.0, c.blocked)))
            )
            WHEN c.idle_share >= 0.8 THEN c.seen_iowait_share
            ELSE c.seen_iowait_share * c.n
        END AS in_iowait,
        CASE WHEN c.free_share >= 0.8 AND coalesce(b.cpu_share, 0) < 0.8 THEN 1 ELSE c.n END AS used
    FROM counted c
    CROSS JOIN traffic_direction d
    CROSS JOIN busiest b
), idle_while_blocked AS (
    SELECT
        sum((p.ts_ns - p.before_ns) * CASE
            WHEN v.procs_running = 0 AND v.procs_blocked > 0
                THEN least(v.procs_blocked, p.idle_ns / p.all_ns * s.used)
            ELSE 0
        END) / sum(p.ts_ns - p.before_ns) AS cpus
    FROM cpu_steps p
    JOIN vm_samples v ON v.ts_ns = p.ts_ns
    CROSS JOIN seen s
    WHERE p.cpu = -1 AND p.all_ns > 0
)
SELECT
    s.cpus,
    s.fitted,
    s.user_share * s.used AS user_cpus,
    s.busy_share * s.used AS busy_cpus,
    CASE
        WHEN s.seen_iowait_share > 0 OR coalesce(s.blocked, 0) = 0 THEN s.in_iowait
        WHEN s.most_runnable = 0 AND s.blocked_share >= 0.5 AND s.free_share > 1 - s.saturated_share
            THEN s.blocked
        ELSE least(coalesce(i.cpus, 0), s.free_share * s.used)
    END AS waiting_cpus,
    s.seen_iowait_share > 0 AS iowait,
    s.runnable,
    CASE
        WHEN s.busy_share >= s.saturated_share THEN 'saturated'
        -- Whether others idle, or how many, shares alone do not show.
        WHEN s.cpus IS NULL THEN 'unknown'
        -- One CPU's worth of work, on a machine that has more of them.
        WHEN s.busy_share * s.used <= s.serial_cores THEN 'serial'
        ELSE 'parallel'
    END AS mode
FROM seen s
CROSS JOIN idle_while_blocked i
