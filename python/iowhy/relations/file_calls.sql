-- title: The system calls on one file
-- kept: table
-- column dev: device number of the filesystem, id
-- column ino: inode, id
-- column file_kind: kind of the file; file where it is not known, text
-- column calls: system calls on it, count
-- column data_calls: of these, those that move data, count
-- column time_ns: their durations, ns
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column blocked_ns: of time_ns, in uninterruptible sleep, ns
-- column read_bytes: bytes that reads returned, bytes
-- column copied_bytes: bytes that copies from file to file returned, bytes
-- column written_bytes: bytes that writes accepted, bytes
-- column first_container: container or service whose processes made calls on it, the first by name; empty: none; NULL: not known, text
-- column last_container: the last by name, text
SELECT
    s.dev,
    s.ino,
    max(s.file_kind) AS file_kind,
    CAST(sum(s.calls) AS BIGINT) AS calls,
    CAST(sum(CASE
        WHEN k.kind IN ('read', 'write', 'copy') AND s.name <> 'readahead' THEN s.calls
        ELSE 0
    END) AS BIGINT) AS data_calls,
    CAST(sum(s.total_ns) AS BIGINT) AS time_ns,
    CAST(sum(CASE WHEN k.kind = 'sync' THEN s.total_ns ELSE 0 END) AS BIGINT) AS sync_ns,
    CAST(sum(s.blocked_ns) AS BIGINT) AS blocked_ns,
    CAST(sum(CASE WHEN k.kind = 'read' THEN coalesce(s.done_bytes, 0) ELSE 0 END) AS BIGINT) AS read_bytes,
    CAST(sum(CASE WHEN k.kind = 'copy' THEN coalesce(s.done_bytes, 0) ELSE 0 END) AS BIGINT) AS copied_bytes,
    CAST(sum(CASE WHEN k.kind = 'write' THEN coalesce(s.done_bytes, 0) ELSE 0 END) AS BIGINT) AS written_bytes,
    min(CASE WHEN p.in_none THEN '' ELSE p.container END) AS first_container,
    max(CASE WHEN p.in_none THEN '' ELSE p.container END) AS last_container
FROM call_addends s
LEFT JOIN call_kinds k ON k.name = s.name
LEFT JOIN named_processes p ON p.tgid = s.tgid
WHERE s.ino IS NOT NULL
GROUP BY s.dev, s.ino
