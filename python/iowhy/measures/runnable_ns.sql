-- title: time ready and waiting for a CPU
-- unit: ns
-- sensor: thread_time
-- classes: runnable
SELECT sum(runnable_ns) FROM thread_totals
