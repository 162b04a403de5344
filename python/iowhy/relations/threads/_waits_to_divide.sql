-- title: An uninterruptible wait that is divided among intervals by its row, with its class of the time budget
-- uses: blocked_calls, metadata_waits, recording, uninterruptible_waits, wait_classes
-- filtered as: nothing
-- Where the recorder has divided waits itself (recording.has_divided_waits), those alone whose class or reason other rows decide. The
-- other columns are those of uninterruptible_waits.
-- column key: number of the combination in wait_classes, number
-- column class: key of the class (budget_classes), or `collect` (wait_classes), text
WITH told AS (
    -- Reasons are looked at first: what other rows need not decide is not read.
    SELECT * FROM blocked_calls
    UNION ALL
    SELECT * FROM metadata_waits
    UNION ALL
    SELECT w.* FROM uninterruptible_waits w CROSS JOIN recording r
    WHERE NOT r.has_divided_waits AND w.recorded_reason <> 'metadata_lock'
    UNION ALL
    SELECT w.* FROM uninterruptible_waits w CROSS JOIN recording r
    WHERE r.has_divided_waits AND w.recorded_reason <> 'metadata_lock'
        AND w.recorded_reason IN (SELECT reason FROM wait_classes WHERE class = 'collect')
)
SELECT w.ts_ns, w.dur_ns, w.blocked_ns, w.tgid, w.tid, w.reason, w.recorded_reason, w.syscall, w.io, c.key, c.class
FROM told w
CROSS JOIN recording r
JOIN wait_classes c
    ON c.reason IS NOT DISTINCT FROM w.reason
    AND c.syscall IS NOT DISTINCT FROM w.syscall
    AND c.io IS NOT DISTINCT FROM w.io
WHERE NOT r.has_divided_waits OR w.recorded_reason = 'metadata_lock' OR c.class = 'collect'
