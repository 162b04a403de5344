-- title: Journal commits
-- question: How often did the journal commit in the chosen time, and how long did it take?
-- report: journal
-- draws: narrowed
-- place: 244
-- needs: journal_commits
-- By when they began.
-- column filesystem: mount point of the filesystem, text
-- column kind: jbd2 or xfs-log-force, text
-- column commits: commits, or log forces, count
-- column total_ns: lengths of those whose end was seen, ns
-- column max_ns: the longest, ns
-- column all_flushing_ns: of them, handing the data of ordered files to the device, ns
-- column all_logging_ns: of them, waiting for those data and writing the log, ns
-- column blocks: blocks logged, blocks
-- column handles: handles of the transactions, count
SELECT
    j.ts_ns,
    coalesce(m.mount, CAST(j.dev >> 20 AS VARCHAR) || ':' || CAST(j.dev & 1048575 AS VARCHAR)) AS filesystem,
    j.kind, 1 AS commits, j.dur_ns AS total_ns, j.dur_ns AS max_ns, j.flushing_ns AS all_flushing_ns,
    j.logging_ns AS all_logging_ns, j.blocks, j.handles
FROM journal_commits j
LEFT JOIN (SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev) m ON m.dev = j.dev
