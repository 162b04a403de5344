-- title: What of a thread's time in one interval nobody waited for, though it waited for others itself
-- kept: table
-- A thread that waits for another would only wait longer if it were quicker before: what it did meanwhile is off the
-- critical path, but for what others waited for. Only intervals that have such time.
-- column row_id: number of the interval in thread_rows, number
-- column cpu_slack: of its time on a CPU, share
-- column runnable_slack: of its time ready for one, share
-- column waiting_slack: of its time that is neither, and not idle, share
WITH waiting AS (
    SELECT row_id, CAST(sum(parts) AS BIGINT) // 16 AS ns
    FROM off_cpu
    WHERE class <> 'idle'
    GROUP BY row_id
), active AS (
    SELECT
        t.row_id,
        t.user_ns + t.kernel_ns + t.recorder_ns AS cpu_ns,
        t.runnable_ns,
        coalesce(w.ns, 0) AS waiting_ns,
        t.waits_ns,
        t.waited_ns,
        t.waited_runnable_ns,
        t.waited_blocked_ns
    FROM thread_rows t
    LEFT JOIN waiting w ON w.row_id = t.row_id
    WHERE t.waits_ns > 0
), wanted AS (
    SELECT
        row_id, cpu_ns, runnable_ns, waiting_ns, waits_ns,
        least(greatest(waited_ns - waited_runnable_ns - waited_blocked_ns, 0), cpu_ns) AS wanted_cpu_ns,
        least(waited_runnable_ns, runnable_ns) AS wanted_runnable_ns,
        least(waited_blocked_ns, waiting_ns) AS wanted_waiting_ns
    FROM active
), unwanted AS (
    SELECT
        *,
        cpu_ns + runnable_ns + waiting_ns - wanted_cpu_ns - wanted_runnable_ns - wanted_waiting_ns AS ns
    FROM wanted
), slack AS (
    SELECT *, least(ns, waits_ns) / ns AS share FROM unwanted WHERE ns > 0
)
SELECT
    row_id,
    coalesce((cpu_ns - wanted_cpu_ns) * share / nullif(cpu_ns, 0), 0) AS cpu_slack,
    coalesce((runnable_ns - wanted_runnable_ns) * share / nullif(runnable_ns, 0), 0) AS runnable_slack,
    coalesce((waiting_ns - wanted_waiting_ns) * share / nullif(waiting_ns, 0), 0) AS waiting_slack
FROM slack
