-- title: Journal commits
-- question: How often did the journal commit, how long did it take, and what did it carry?
-- stands in for: /proc/fs/jbd2/*/info, jbd2 probes
-- filters: since until
-- column filesystem: mount point of the filesystem, text
-- column kind: jbd2 or xfs-log-force, text
-- column commits: commits, or log forces, count
-- column commits_per_s: commits per second, 1/s
-- column mean_ns: mean length, of those whose end was seen, ns
-- column max_ns: longest, ns
-- column busy_share: of the elapsed time, within at least one commit or force, share
-- column wait_ns: mean, waiting to start, ns
-- column locked_ns: mean, waiting for running handles, ns
-- column flushing_ns: mean, writing the data of ordered files, ns
-- column logging_ns: mean, writing the log, ns
-- column handles_per_commit: mean handles of a transaction, number
-- column blocks_per_commit: mean blocks logged, blocks
-- column blocks: blocks logged, blocks
-- XFS tells only when a log force begins. One inside a call that syncs or writes ends with that call;
-- of others (by kernel workers) the length is not known. Threads may force the log at the same time.
WITH mounts AS (
    SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev
), ordered AS (
    SELECT
        *,
        max(ts_ns + coalesce(dur_ns, 0)) OVER (
            PARTITION BY dev, kind ORDER BY ts_ns, dur_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM journal_commits
)
SELECT
    coalesce(m.mount, CAST(j.dev >> 20 AS VARCHAR) || ':' || CAST(j.dev & 1048575 AS VARCHAR))
        AS filesystem,
    j.kind,
    count(*) AS commits,
    count(*) * 1e9 / nullif(max(r.elapsed_ns), 0) AS commits_per_s,
    avg(j.dur_ns) AS mean_ns,
    max(j.dur_ns) AS max_ns,
    sum(greatest(j.ts_ns + j.dur_ns - greatest(j.ts_ns, coalesce(j.before_ns, j.ts_ns)), 0))
        / nullif(max(r.elapsed_ns), 0) AS busy_share,
    avg(j.wait_ns) AS wait_ns,
    avg(j.locked_ns) AS locked_ns,
    avg(j.flushing_ns) AS flushing_ns,
    avg(j.logging_ns) AS logging_ns,
    avg(j.handles) AS handles_per_commit,
    avg(j.blocks) AS blocks_per_commit,
    sum(j.blocks) AS blocks
FROM ordered j
CROSS JOIN recording r
LEFT JOIN mounts m ON m.dev = j.dev
GROUP BY 1, 2
ORDER BY commits DESC, filesystem, kind
