-- title: A pass of writeback over one inode that wrote pages
-- uses: command_filesystems, writeback
-- filtered as: writeback
-- A pass that finds nothing to write is none. The other columns are those of writeback.
-- column own: over a file of a filesystem that the command uses (command_filesystems), bool
-- column background: by a worker of the kernel, not by its own caller (fsync), bool
-- column previous_ino: inode of the pass before it on its filesystem, id
-- column rest_ns: from the end of its thread's pass before it on the filesystem, for the same reason, ns
SELECT
    *,
    dev IN (SELECT dev FROM command_filesystems) AS own,
    reason <> 'fsync' AS background,
    lag(ino) OVER (PARTITION BY dev ORDER BY ts_ns, ino) AS previous_ino,
    CASE WHEN reason = lag(reason) OVER one
        THEN ts_ns - coalesce(dur_ns, 0) - lag(ts_ns) OVER one END AS rest_ns
FROM writeback
WHERE pages_written > 0
WINDOW one AS (PARTITION BY dev, tid ORDER BY ts_ns)
