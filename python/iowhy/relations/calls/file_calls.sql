-- title: The system calls on one file, and operations of io_uring and libaio
-- uses: call_kinds, calls_by_file, named_processes
-- kept: table
-- column dev: device number of the filesystem, id
-- column ino: inode, id
-- column calls: calls and operations on it, count
-- column data_calls: of these, those that move data, count
-- column time_ns: their durations, ns
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column blocked_ns: of time_ns, in uninterruptible sleep, ns
-- column read_bytes: bytes that reads returned, bytes
-- column copied_bytes: bytes that copies from file to file returned, bytes
-- column written_bytes: bytes that writes accepted, bytes
-- column first_container: container or service whose processes made calls on it, the first by name; empty: none; NULL: not known, text
-- column last_container: the last by name, text
WITH kinds AS (
    -- What is asked of each call, once for each name.
    SELECT
        name,
        kind IN ('read', 'write', 'copy') AND name <> 'readahead' AS moves,
        kind = 'sync' AS syncs,
        kind = 'read' AS reads,
        kind = 'copy' AS copies,
        kind = 'write' AS writes
    FROM call_kinds
), contained AS (
    SELECT tgid, CASE WHEN in_none THEN '' ELSE container END AS container FROM named_processes
), numbered AS (
    -- Numbers in the order of the names: the smallest and largest of each file's are found among them.
    SELECT container, row_number() OVER (ORDER BY container) AS number
    FROM (SELECT DISTINCT container FROM contained WHERE container IS NOT NULL) AS d
), processes AS (
    SELECT c.tgid, n.number FROM contained c JOIN numbered n ON n.container = c.container
), summed AS (
    SELECT
        s.dev,
        s.ino,
        sum(s.calls) AS calls,
        sum(CASE WHEN k.moves THEN s.calls END) AS data_calls,
        sum(s.total_ns) AS time_ns,
        sum(CASE WHEN k.syncs THEN s.total_ns END) AS sync_ns,
        count(CASE WHEN k.syncs THEN NULL ELSE 1 END) AS not_syncing,
        sum(s.blocked_ns) AS blocked_ns,
        sum(CASE WHEN k.reads THEN s.done_bytes END) AS read_bytes,
        sum(CASE WHEN k.copies THEN s.done_bytes END) AS copied_bytes,
        sum(CASE WHEN k.writes THEN s.done_bytes END) AS written_bytes,
        min(p.number) AS first_number,
        max(p.number) AS last_number
    FROM calls_by_file s
    LEFT JOIN kinds k ON k.name = s.name
    LEFT JOIN processes p ON p.tgid = s.tgid
    WHERE s.ino IS NOT NULL
    GROUP BY s.dev, s.ino
)
SELECT
    s.dev,
    s.ino,
    CAST(s.calls AS BIGINT) AS calls,
    CAST(coalesce(s.data_calls, 0) AS BIGINT) AS data_calls,
    CAST(s.time_ns AS BIGINT) AS time_ns,
    CAST(coalesce(s.sync_ns, CASE WHEN s.not_syncing > 0 THEN 0 END) AS BIGINT) AS sync_ns,
    CAST(s.blocked_ns AS BIGINT) AS blocked_ns,
    CAST(coalesce(s.read_bytes, 0) AS BIGINT) AS read_bytes,
    CAST(coalesce(s.copied_bytes, 0) AS BIGINT) AS copied_bytes,
    CAST(coalesce(s.written_bytes, 0) AS BIGINT) AS written_bytes,
    f.container AS first_container,
    l.container AS last_container
FROM summed s
LEFT JOIN numbered f ON f.number = s.first_number
LEFT JOIN numbered l ON l.number = s.last_number
