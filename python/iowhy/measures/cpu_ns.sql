-- title: CPU time
-- unit: ns
-- sensor: thread_time
-- classes: user, kernel
SELECT sum(cpu_ns) FROM thread_totals
