-- title: Waits for one filesystem that a process serves (FUSE), in calls of one name and for one reason
-- filtered as: nothing
-- kept: table
-- Most are interruptible sleeps in the call, which have no reason; for a page that readahead asked for, and where the
-- process has taken the request already, they are uninterruptible. What the process waits for itself is not known here.
-- column syscall: call, NULL in a page fault, text
-- column reason: reason, NULL of an interruptible sleep, text
-- column dev: the filesystem; NULL where the wait has no file, id
-- column waits: waits, or calls that slept, count
-- column total_ns: summed, ns
-- column part: of all waits in this call for this reason, share
WITH found AS (
    SELECT
        w.syscall, w.reason, v.dev, v.dev IS NOT NULL OR w.reason = 'fuse' AS is_served, w.dur_ns AS ns
    FROM main.waits w
    LEFT JOIN served_filesystems v ON v.dev = w.dev
    WHERE w.dur_ns > 0
    UNION ALL
    SELECT s.syscall, NULL, v.dev, v.dev IS NOT NULL, s.sleeping_ns
    FROM main.classed_sleeps s
    LEFT JOIN served_filesystems v ON v.dev = s.dev
), summed AS (
    SELECT syscall, reason, dev, is_served, count(*) AS waits, CAST(sum(ns) AS BIGINT) AS total_ns
    FROM found
    GROUP BY syscall, reason, dev, is_served
), shared AS (
    SELECT *, total_ns / sum(total_ns) OVER (PARTITION BY syscall, reason) AS part FROM summed
)
SELECT syscall, reason, dev, waits, total_ns, part FROM shared WHERE is_served
