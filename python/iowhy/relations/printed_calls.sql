-- title: The calls of one name by the time in them, where no thread's time was recorded
-- kept: table
-- column origin: where the numbers are from: single calls, totals, or AIX's curt, text
-- column syscall: call, text
-- column total_ns: time of all of its calls, ns
-- column cpu_ns: of that, on a CPU; NULL where only durations were printed, ns
-- column class: key of the class of the time that is not on a CPU, text
WITH printed AS (
    SELECT 'calls' AS origin, name AS syscall, sum(dur_ns) AS total_ns, CAST(NULL AS BIGINT) AS cpu_ns
    FROM syscalls
    GROUP BY name
    UNION ALL
    SELECT 'totals', name, sum(total_ns), sum(cpu_ns) FROM syscall_totals GROUP BY name
    UNION ALL
    SELECT
        'curt',
        subject,
        round(
            avg(CASE WHEN metric = 'elapsed_mean_ns' THEN value END)
            * coalesce(avg(CASE WHEN metric = 'calls' THEN value END), 1)
        ),
        round(
            avg(CASE WHEN metric = 'cpu_mean_ns' THEN value END)
            * coalesce(avg(CASE WHEN metric = 'calls' THEN value END), 1)
        )
    FROM main.measurements
    WHERE lower(tool) = 'curt'
    GROUP BY subject
)
SELECT
    p.origin,
    p.syscall,
    CAST(p.total_ns AS BIGINT) AS total_ns,
    CAST(CASE WHEN p.cpu_ns < 1e17 THEN p.cpu_ns END AS BIGINT) AS cpu_ns,
    CASE
        WHEN k.kind = 'sync' THEN 'sync'
        WHEN k.kind IN ('write', 'change') OR k.direction = 'write' THEN 'write'
        WHEN k.kind IN ('read', 'lookup') OR k.direction = 'read' OR k.reaps THEN 'read'
        WHEN k.kind = 'idle' THEN 'idle'
        ELSE 'kernel'
    END AS class
FROM printed p
LEFT JOIN call_kinds k ON k.name = p.syscall
-- Three years: what is longer is a text that is broken, and would cost all that stands beside it.
WHERE p.total_ns > 0 AND p.total_ns < 1e17
