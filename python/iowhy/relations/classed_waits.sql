-- title: An uninterruptible wait with its class of the time budget
-- filtered as: waits
-- The other columns are those of waits_in_calls.
-- column key: number of the combination in wait_classes, number
-- column class: key of the class (budget_classes), or `collect` (wait_classes), text
SELECT w.ts_ns, w.dur_ns, w.blocked_ns, w.tgid, w.tid, w.reason, w.recorded_reason, w.syscall, w.io, c.key, c.class
FROM main.waits_in_calls w
JOIN main.wait_classes c
    ON c.reason IS NOT DISTINCT FROM w.reason
    AND c.syscall IS NOT DISTINCT FROM w.syscall
    AND c.io IS NOT DISTINCT FROM w.io
