-- title: The uninterruptible time of a call, where waits were not recorded: it is somewhere in the call, and its reason is not known
-- uses: recording, syscalls
-- filtered as: nothing
-- The columns are those of uninterruptible_waits.
-- column ts_ns: entry, ns
-- column recorded_reason: NULL, text
SELECT
    s.ts_ns, s.dur_ns, s.blocked_ns, s.tgid, s.tid, CAST(NULL AS VARCHAR) AS reason,
    CAST(NULL AS VARCHAR) AS recorded_reason, s.name AS syscall, CAST(NULL AS BOOLEAN) AS io, s.dev
FROM syscalls s
CROSS JOIN recording r
WHERE NOT r.ran_waits AND NOT r.has_waits AND s.blocked_ns > 0 AND s.dur_ns > 0
