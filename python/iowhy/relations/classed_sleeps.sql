-- title: A call whose interruptible sleep waits for storage
-- filtered as: syscalls
-- kept: table
-- Such are calls that reap asynchronous I/O, and calls that read, write or sync a file or directory, or open one of a
-- filesystem that a process serves: what answers them is that process (FUSE) or a server. All other interruptible sleep is idle.
-- column ts_ns: entry, ns
-- column dur_ns: length of the call, ns
-- column sleeping_ns: how much of it was interruptible sleep, ns
-- column tgid: process, id
-- column tid: thread, id
-- column dev: filesystem of the file; NULL where the call has none, id
-- column syscall: call, text
-- column class: read, write, sync, or `collect`: waits for what is in flight of its ring, text
-- column ring: of a call that reaps, number of its ring or context; NULL where that is not known, number
SELECT
    s.ts_ns, s.dur_ns, s.sleeping_ns, s.tgid, s.tid, s.dev, s.name AS syscall,
    CASE WHEN k.reaps THEN 'collect' WHEN k.opens THEN 'read' ELSE k.kind END AS class,
    CASE WHEN k.reaps THEN s.ring END AS ring
FROM main.syscalls s
JOIN call_kinds k ON k.name = s.name AND (k.reaps OR k.opens OR k.kind IN ('read', 'write', 'sync'))
LEFT JOIN (
    SELECT dev, ino, max(kind) AS kind FROM main.files GROUP BY dev, ino
) f ON f.dev = s.dev AND f.ino = s.ino
LEFT JOIN served_filesystems u ON u.dev = s.dev
WHERE s.sleeping_ns > 0 AND s.dur_ns > 0
    AND (k.reaps OR (f.kind IN ('file', 'directory') AND (u.dev IS NOT NULL OR NOT k.opens)))
