-- title: A call whose interruptible sleep waits for storage
-- uses: call_kinds, named_files, served_filesystems, storage_sleepers, syscalls
-- filtered as: nothing
-- Such are calls that reap asynchronous I/O, and calls that read, write or sync a file or directory, or open one of a
-- filesystem that a process serves: what answers them is that process (FUSE) or a server. So are calls that wait for a ring
-- or context by an eventfd, or poll it: they have its number. All other interruptible sleep is idle.
-- Calls are read once, those of threads that have any such sleep alone, and not kept: they can be many.
-- column ts_ns: entry, ns
-- column dur_ns: length of the call, ns
-- column sleeping_ns: how much of it was interruptible sleep, ns
-- column cpu_ns: of it, on a CPU, ns
-- column blocked_ns: of it, in uninterruptible sleep, ns
-- column runnable_ns: of it, ready and waiting for a CPU, ns
-- column tgid: process, id
-- column tid: thread, id
-- column dev: filesystem of the file; NULL where the call has none, id
-- column syscall: call, text
-- column class: read, write, sync, or `collect`: waits for what is in flight of its ring, text
-- column ring: of a call that reaps or waits until it can, number of its ring or context; NULL if not known, number
-- Of calls that reap no file is looked at.
SELECT
    s.ts_ns, s.dur_ns, s.sleeping_ns, s.cpu_ns, s.blocked_ns, s.runnable_ns, s.tgid, s.tid, s.dev, s.name AS syscall, 'collect' AS class, s.ring
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
WHERE s.sleeping_ns > 0 AND s.dur_ns > 0 AND s.tid IN (SELECT tid FROM storage_sleepers WHERE collects)
    AND (k.reaps OR (s.ring IS NOT NULL AND k.kind <> 'collect'))
UNION ALL
SELECT
    s.ts_ns, s.dur_ns, s.sleeping_ns, s.cpu_ns, s.blocked_ns, s.runnable_ns, s.tgid, s.tid, s.dev, s.name,
    CASE WHEN k.opens THEN 'read' ELSE k.kind END, CAST(NULL AS BIGINT)
FROM syscalls s
JOIN call_kinds k ON k.name = s.name
JOIN named_files f ON f.dev = s.dev AND f.ino = s.ino
LEFT JOIN served_filesystems u ON u.dev = s.dev
WHERE s.sleeping_ns > 0 AND s.dur_ns > 0 AND s.tid IN (SELECT tid FROM storage_sleepers WHERE NOT collects)
    AND NOT k.reaps AND s.ring IS NULL AND f.kind IN ('file', 'directory')
    AND ((k.opens AND u.dev IS NOT NULL) OR (NOT k.opens AND k.kind IN ('read', 'write', 'sync')))
