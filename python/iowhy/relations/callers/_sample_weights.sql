-- title: Time that one sample represents, of one kind of time
-- uses: call_kinds, named_files, served_filesystems, stack_samples
-- filtered as: nothing
-- A call represents its waits, for its time ready and waiting for a CPU, and for its idle sleep; what ran represents what ran, in the
-- kernel or outside. Sleep is a wait where storage_sleeps says that it is one for storage.
-- column ts_ns: when the stack was taken, ns
-- column tgid: process, id
-- column tid: thread, id
-- column kind: call, wait or cpu, text
-- column syscall: call that it was in; NULL outside any, text
-- column user_stack_id: the stack; NULL where it could not be read, id
-- column whole: the stack goes to the thread's start, bool
-- column dev: filesystem of the file, the call's or the mapped one whose page is faulted on, id
-- column ino: inode of that file, id
-- column told_by: kind of time, as in _thread_times_by_class, text
-- column told_call: of waits in a call, the call, text
-- column told_ns: time of that kind, ns
WITH stored AS (
    SELECT DISTINCT s.syscall, s.dev, s.ino
    FROM stack_samples s
    JOIN call_kinds k ON k.name = s.syscall AND (k.reaps OR k.opens OR k.kind IN ('read', 'write', 'sync'))
    LEFT JOIN named_files f ON f.dev = s.dev AND f.ino = s.ino
    LEFT JOIN served_filesystems u ON u.dev = s.dev
    -- Of all others it makes no difference, and most do not sleep.
    WHERE s.sleeping_ns > 0
        AND (k.reaps OR (f.kind IN ('file', 'directory') AND (u.dev IS NOT NULL OR NOT k.opens)))
), samples AS (
    SELECT
        s.ts_ns, s.tgid, s.tid, s.kind, s.syscall, s.user_stack_id, s.whole, s.dev, s.ino,
        s.stack_id, s.weight_ns,
        -- Where a source does not give the parts, all of it is taken for waiting.
        coalesce(s.runnable_ns, 0) AS runnable_ns,
        coalesce(s.blocked_ns, CASE WHEN s.cpu_ns IS NULL THEN s.weight_ns ELSE s.weight_ns - s.cpu_ns END) AS blocked_ns,
        coalesce(s.sleeping_ns, 0) AS sleeping_ns,
        t.syscall IS NOT NULL AS for_storage
    FROM stack_samples s
    LEFT JOIN stored t
        ON t.syscall = s.syscall AND t.dev IS NOT DISTINCT FROM s.dev AND t.ino IS NOT DISTINCT FROM s.ino
), told AS (
    SELECT
        *,
        CASE WHEN stack_id IS NULL AND syscall IS NULL THEN 'user' ELSE 'kernel' END AS told_by,
        CAST(NULL AS VARCHAR) AS told_call,
        weight_ns AS told_ns
    FROM samples
    WHERE kind = 'cpu'
    UNION ALL
    SELECT *, 'waits', syscall, blocked_ns + CASE WHEN for_storage THEN sleeping_ns ELSE 0 END FROM samples WHERE kind = 'call'
    UNION ALL
    SELECT *, 'runnable', NULL, runnable_ns FROM samples WHERE kind = 'call'
    UNION ALL
    SELECT *, 'asleep', NULL, sleeping_ns FROM samples WHERE kind = 'call' AND NOT for_storage
    UNION ALL
    SELECT *, 'waits', NULL, weight_ns FROM samples WHERE kind = 'wait'
)
SELECT ts_ns, tgid, tid, kind, syscall, user_stack_id, whole, dev, ino, told_by, told_call, told_ns
FROM told
WHERE told_ns > 0
