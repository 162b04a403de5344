-- title: A call whose interruptible sleep waits for storage
-- filtered as: syscalls
-- kept: table
-- Such are calls that reap asynchronous I/O, and calls that read, write or sync a file or directory, or open one of a
-- filesystem that a process serves: what answers them is that process (FUSE) or a server. So are calls that wait for a ring
-- or context by an eventfd, or poll it: they have its number. All other interruptible sleep is idle.
-- column ts_ns: entry, ns
-- column dur_ns: length of the call, ns
-- column sleeping_ns: how much of it was interruptible sleep, ns
-- column tgid: process, id
-- column tid: thread, id
-- column dev: filesystem of the file; NULL where the call has none, id
-- column syscall: call, text
-- column class: read, write, sync, or `collect`: waits for what is in flight of its ring, text
-- column ring: of a call that reaps or waits until it can, number of its ring or context; NULL where that is not known, number
WITH asleep AS (
    SELECT
        s.ts_ns, s.dur_ns, s.sleeping_ns, s.tgid, s.tid, s.dev, s.ino, s.name, s.ring, k.kind, k.opens,
        k.reaps OR (s.ring IS NOT NULL AND k.kind <> 'collect') AS collects
    FROM main.syscalls s
    JOIN call_kinds k ON k.name = s.name
    WHERE s.sleeping_ns > 0 AND s.dur_ns > 0
)
SELECT
    a.ts_ns, a.dur_ns, a.sleeping_ns, a.tgid, a.tid, a.dev, a.name AS syscall,
    CASE WHEN a.collects THEN 'collect' WHEN a.opens THEN 'read' ELSE a.kind END AS class,
    CASE WHEN a.collects THEN a.ring END AS ring
FROM asleep a
LEFT JOIN main.named_files f ON f.dev = a.dev AND f.ino = a.ino
LEFT JOIN served_filesystems u ON u.dev = a.dev
WHERE a.collects
    OR (
        (a.opens OR a.kind IN ('read', 'write', 'sync'))
        AND f.kind IN ('file', 'directory') AND (u.dev IS NOT NULL OR NOT a.opens)
    )
