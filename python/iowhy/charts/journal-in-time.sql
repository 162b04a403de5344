-- title: Journal commits
-- question: How often did the journal commit in the chosen time, and how long did it take?
-- report: journal
-- draws: narrowed
-- place: 244
-- needs: journal_commits
-- By when they began.
-- column at_s: begin of the cell, s
-- column span_s: its length, s
-- column filesystem: mount point of the filesystem, text
-- column kind: jbd2 or xfs-log-force, text
-- column commits: commits, or log forces, count
-- column total_ns: lengths of those whose end was seen, ns
-- column max_ns: the longest, ns
-- column all_flushing_ns: of them, handing the data of ordered files to the device, ns
-- column all_logging_ns: of them, waiting for those data and writing the log, ns
-- column blocks: blocks logged, blocks
-- column handles: handles of the transactions, count
WITH mounts AS (
    SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev
)
SELECT
    greatest(least((j.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0) * max(c.cell_ns) / 1e9 AS at_s,
    max(c.cell_ns) / 1e9 AS span_s,
    coalesce(m.mount, CAST(j.dev >> 20 AS VARCHAR) || ':' || CAST(j.dev & 1048575 AS VARCHAR))
        AS filesystem,
    j.kind,
    count(*) AS commits,
    CAST(sum(j.dur_ns) AS BIGINT) AS total_ns,
    max(j.dur_ns) AS max_ns,
    CAST(sum(j.flushing_ns) AS BIGINT) AS all_flushing_ns,
    CAST(sum(j.logging_ns) AS BIGINT) AS all_logging_ns,
    CAST(sum(j.blocks) AS BIGINT) AS blocks,
    CAST(sum(j.handles) AS BIGINT) AS handles
FROM journal_commits j
CROSS JOIN chart_cells c
LEFT JOIN mounts m ON m.dev = j.dev
GROUP BY greatest(least((j.ts_ns - c.start_ns) // c.cell_ns, c.last_cell), 0), coalesce(m.mount, CAST(j.dev >> 20 AS VARCHAR) || ':' || CAST(j.dev & 1048575 AS VARCHAR)), j.kind
ORDER BY commits DESC, filesystem, j.kind, at_s
