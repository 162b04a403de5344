-- title: The commits (or log forces) of one filesystem's journal
-- uses: command_filesystems, journal_commits
-- XFS says only when a log force begins. One inside a call that syncs or writes ends with that call;
-- of others (by kernel workers) the length is not known. Threads may force the log at the same time.
-- column dev: filesystem, id
-- column kind: jbd2 or xfs-log-force, text
-- column own: the command uses the filesystem (command_filesystems), bool
-- column commits: commits, or log forces, count
-- column timed: of these, whose end was seen, count
-- column total_ns: their lengths, ns
-- column max_ns: the longest, ns
-- column busy_ns: time within at least one of them; NULL where no end was seen, ns
-- column mean_wait_ns: mean, waiting to start, ns
-- column mean_locked_ns: mean, waiting for running handles, ns
-- column mean_flushing_ns: mean, handing the data of ordered files to the device, ns
-- column mean_logging_ns: mean, waiting for those data and writing the log, ns
-- column flushing_ns: handing the data of ordered files to the device, ns
-- column flushing_of_ns: lengths of the commits of which that is known, ns
-- column logging_ns: waiting for those data and writing the log, ns
-- column logging_of_ns: lengths of the commits of which that is known, ns
-- column handles: handles of the transactions, count
-- column with_handles: commits of which their number is known, count
-- column blocks: blocks logged, blocks
-- column with_blocks: commits of which their number is known, count
SELECT
    dev,
    kind,
    dev IN (SELECT dev FROM command_filesystems) AS own,
    count(*) AS commits,
    count(dur_ns) AS timed,
    sum(dur_ns) AS total_ns,
    max(dur_ns) AS max_ns,
    -- greatest() passes over NULL.
    sum(CASE WHEN dur_ns IS NOT NULL
        THEN greatest(ts_ns + dur_ns - greatest(ts_ns, coalesce(before_ns, ts_ns)), 0) END) AS busy_ns,
    avg(wait_ns) AS mean_wait_ns,
    avg(locked_ns) AS mean_locked_ns,
    avg(flushing_ns) AS mean_flushing_ns,
    avg(logging_ns) AS mean_logging_ns,
    sum(flushing_ns) AS flushing_ns,
    sum(CASE WHEN flushing_ns IS NOT NULL THEN dur_ns END) AS flushing_of_ns,
    sum(logging_ns) AS logging_ns,
    sum(CASE WHEN logging_ns IS NOT NULL THEN dur_ns END) AS logging_of_ns,
    sum(handles) AS handles,
    count(handles) AS with_handles,
    sum(blocks) AS blocks,
    count(blocks) AS with_blocks
FROM (
    SELECT
        *,
        max(ts_ns + coalesce(dur_ns, 0)) OVER (
            PARTITION BY dev, kind ORDER BY ts_ns, dur_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM journal_commits
) AS j
GROUP BY dev, kind
