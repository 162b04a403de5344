-- title: Journal commits
-- question: How often did the journal commit, how long did it take, and what did it carry?
-- stands in for: /proc/fs/jbd2/*/info, jbd2 probes
-- filters: since until
-- about: filesystem commits mean_ns max_ns busy_share
-- column filesystem: mount point of the filesystem, text
-- column kind: jbd2 or xfs-log-force, text
-- column commits: commits, or log forces, count
-- column commits_per_s: commits per second, 1/s
-- column mean_ns: mean length, of those whose end was seen, ns
-- column max_ns: longest, ns
-- column busy_share: of the elapsed time, within at least one commit or force, share
-- column wait_ns: mean, waiting to start, ns
-- column locked_ns: mean, waiting for running handles, ns
-- column flushing_ns: mean, handing the data of ordered files to the device, ns
-- column logging_ns: mean, waiting for those data and writing the log, ns
-- column handles_per_commit: mean handles of a transaction, number
-- column blocks_per_commit: mean blocks logged, blocks
-- column blocks: blocks logged, blocks
-- column own: the command uses the filesystem, bool
-- XFS says only when a log force begins. One inside a call that syncs or writes ends with that call;
-- of others (by kernel workers) the length is not known. Threads may force the log at the same time.
WITH mounts AS (
    SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev
)
SELECT
    coalesce(m.mount, CAST(j.dev >> 20 AS VARCHAR) || ':' || CAST(j.dev & 1048575 AS VARCHAR))
        AS filesystem,
    j.kind,
    j.commits,
    j.commits * 1e9 / nullif(r.elapsed_ns, 0) AS commits_per_s,
    j.total_ns / nullif(j.timed, 0) AS mean_ns,
    j.max_ns,
    j.busy_ns / nullif(r.elapsed_ns, 0) AS busy_share,
    j.mean_wait_ns AS wait_ns,
    j.mean_locked_ns AS locked_ns,
    j.mean_flushing_ns AS flushing_ns,
    j.mean_logging_ns AS logging_ns,
    j.handles / nullif(j.with_handles, 0) AS handles_per_commit,
    j.blocks / nullif(j.with_blocks, 0) AS blocks_per_commit,
    j.blocks,
    j.own
FROM journal_totals j
CROSS JOIN recording r
LEFT JOIN mounts m ON m.dev = j.dev
ORDER BY j.commits DESC, filesystem, j.kind
