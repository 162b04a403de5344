-- title: A system call, with the kind of its file
-- kept: table
-- What sums of calls read of the calls where these are few (call_addends), read from the files once.
-- column tgid: process, id
-- column tid: thread, id
-- column name: system call, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column file_kind: kind of the file; file where it is not known, text
-- column bytes: bytes that it asked for, bytes
-- column ret: what it returned; NULL where it had not when the recording ended, number
-- column dur_ns: its duration, ns
-- column cpu_ns: of it, on a CPU, ns
-- column runnable_ns: of it, ready and waiting for a CPU, ns
-- column blocked_ns: of it, in uninterruptible sleep, ns
-- column sleeping_ns: of it, in interruptible sleep, ns
SELECT
    c.tgid,
    c.tid,
    c.name,
    c.dev,
    c.ino,
    coalesce(f.kind, 'file') AS file_kind,
    c.bytes,
    c.ret,
    c.dur_ns,
    c.cpu_ns,
    c.runnable_ns,
    c.blocked_ns,
    c.sleeping_ns
FROM syscalls c
-- Nearly all files of many are plain ones: to look for the others alone takes less.
LEFT JOIN (SELECT dev, ino, kind FROM named_files WHERE kind <> 'file') f ON f.dev = c.dev AND f.ino = c.ino
