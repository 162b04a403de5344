-- title: The operations of io_uring and libaio of one kind by one thread on one file
-- uses: async_operations, named_files
-- kept: table
-- column tgid: process, id
-- column tid: thread that submitted them, id
-- column api: io_uring or libaio, text
-- column op: what they do, text
-- column kind: read, write, sync or other, text
-- column ran: who began them: inline, poll thread or worker, text
-- column dev: filesystem of the file, id
-- column ino: inode of the file, id
-- column file_kind: kind of the file; file if not known, text
-- column operations: operations, count
-- column errors: of these, those that failed, count
-- column unfinished: of these, those whose end was not seen, count
-- column total_ns: from submission to result, summed, ns
-- column max_ns: the longest, ns
-- column asked_bytes: bytes that they asked for, bytes
-- column moved_bytes: bytes that their results say were moved, bytes
-- column moving: operations that moved more than 0, count
SELECT
    a.tgid,
    a.tid,
    a.api,
    a.op,
    a.kind,
    a.ran,
    a.dev,
    a.ino,
    coalesce(max(f.kind), 'file') AS file_kind,
    count(*) AS operations,
    sum(CASE WHEN a.ret < 0 THEN 1 ELSE 0 END) AS errors,
    count(*) - count(a.complete_ns) AS unfinished,
    sum(a.complete_ns - a.submit_ns) AS total_ns,
    max(a.complete_ns - a.submit_ns) AS max_ns,
    sum(a.bytes) AS asked_bytes,
    sum(a.moved_bytes) AS moved_bytes,
    count(CASE WHEN a.moved_bytes > 0 THEN 1 END) AS moving
FROM async_operations a
LEFT JOIN named_files f ON f.dev = a.dev AND f.ino = a.ino
GROUP BY a.tgid, a.tid, a.api, a.op, a.kind, a.ran, a.dev, a.ino
