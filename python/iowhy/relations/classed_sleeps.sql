-- title: A call whose interruptible sleep waits for storage
-- filtered as: syscalls
-- kept: table
-- Such are calls that reap asynchronous I/O, and calls that read, write or sync a file or directory: what
-- answers them is a process in user space (FUSE) or a server. All other interruptible sleep is idle.
-- column ts_ns: entry, ns
-- column dur_ns: length of the call, ns
-- column sleeping_ns: how much of it was interruptible sleep, ns
-- column tgid: process, id
-- column tid: thread, id
-- column syscall: call, text
-- column class: read, write, sync, or `collect`: waits for what is in flight of its ring, text
-- column ring: of a call that reaps, number of its ring or context; NULL where that is not known, number
SELECT
    s.ts_ns, s.dur_ns, s.sleeping_ns, s.tgid, s.tid, s.name AS syscall,
    CASE WHEN k.reaps THEN 'collect' ELSE k.kind END AS class,
    CASE WHEN k.reaps THEN s.ring END AS ring
FROM main.syscalls s
JOIN call_kinds k ON k.name = s.name AND (k.reaps OR k.kind IN ('read', 'write', 'sync'))
LEFT JOIN (
    SELECT dev, ino, max(kind) AS kind FROM main.files GROUP BY dev, ino
) f ON f.dev = s.dev AND f.ino = s.ino
WHERE s.sleeping_ns > 0 AND s.dur_ns > 0 AND (k.reaps OR f.kind IN ('file', 'directory'))
