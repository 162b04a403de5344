-- title: The calls of one name by the time in them, where no thread's time was recorded
-- uses: call_kinds, main.measurements, nonstorage_files, syscall_totals, syscalls
-- kept: table
-- Of single calls it is known what they are on, where the tool names it: a pipe, socket or terminal keeps nobody waiting for storage, and
-- a device that stores nothing costs time in the kernel.
-- column origin: where the numbers are from: single calls, totals, or AIX's curt, text
-- column syscall: call, text
-- column total_ns: time of all of its calls, ns
-- column cpu_ns: of that, on a CPU; NULL where only durations were printed, ns
-- column class: key of the class of the time that is not on a CPU, text
WITH printed AS (
    SELECT
        'calls' AS origin, s.name AS syscall, sum(s.dur_ns) AS total_ns, CAST(NULL AS BIGINT) AS cpu_ns,
        CASE WHEN p.peer THEN 'idle' WHEN p.dev IS NOT NULL THEN 'kernel' WHEN s.durable THEN 'sync' END AS known
    FROM syscalls s
    LEFT JOIN nonstorage_files p ON p.dev = s.dev AND p.ino = s.ino
    GROUP BY s.name, known
    UNION ALL
    SELECT 'totals', name, sum(total_ns), sum(cpu_ns), NULL FROM syscall_totals GROUP BY name
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
        ),
        NULL
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
        WHEN p.known IS NOT NULL THEN p.known
        WHEN k.kind = 'sync' THEN 'sync'
        WHEN k.kind IN ('write', 'change') OR k.direction = 'write' THEN 'write'
        WHEN k.kind IN ('read', 'lookup') OR k.direction = 'read' OR k.reaps THEN 'read'
        WHEN k.kind = 'idle' THEN 'idle'
        ELSE 'kernel'
    END AS class
FROM printed p
LEFT JOIN call_kinds k ON k.name = p.syscall
-- Three years: what is longer is a text that is broken, and would cost all that is next to it.
WHERE p.total_ns > 0 AND p.total_ns < 1e17
