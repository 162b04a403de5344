-- title: Waits for one filesystem that a process (FUSE) or a server serves, in calls of one name and for one reason
-- uses: call_kinds, calls_by_filesystem, served_filesystems, storage_sleep_sums, waits
-- filtered as: nothing
-- kept: table
-- Most are interruptible sleeps in the call, which have no reason; for a page that readahead asked for, and where the
-- process has taken the request already, they are uninterruptible, as are those for a server. What it waits for itself is not known here.
-- column syscall: call, NULL in a page fault, text
-- column reason: reason, NULL of an interruptible sleep, text
-- column dev: the filesystem; NULL where the wait has no file, id
-- column served_by: process or server, text
-- column waits: waits, or calls that slept, count
-- column total_ns: summed, ns
-- column part: of all waits in this call for this reason, share
WITH possible AS (
    SELECT v.dev, c.dev IS NOT NULL AS opened
    FROM served_filesystems v
    LEFT JOIN (SELECT DISTINCT dev FROM calls_by_filesystem) c ON c.dev = v.dev
    WHERE v.served_by = 'process' OR v.kind = 'virtiofs'
), alone AS (
    SELECT
        CASE WHEN count(*) = 1 THEN max(dev) END AS dev,
        CASE WHEN count(CASE WHEN opened THEN 1 END) = 1 THEN max(CASE WHEN opened THEN dev END) END AS opened_dev
    FROM possible
), found AS (
    SELECT
        w.syscall, w.reason, v.dev, 1 AS waits, w.dur_ns AS ns,
        -- Of a wait without a file (of a call on names) the reason says, where only one can be meant also which filesystem it
        -- is; else the host of virtiofs is not distinguished from a process then. What is closed, or mapped, was opened before.
        coalesce(v.served_by, CASE w.reason WHEN 'fuse' THEN 'process' WHEN 'network_filesystem' THEN 'server' END) AS served_by
    FROM waits w
    LEFT JOIN call_kinds k ON k.name = w.syscall
    LEFT JOIN alone a ON w.dev IS NULL AND w.reason = 'fuse'
    LEFT JOIN served_filesystems v
        ON v.dev = coalesce(w.dev, a.dev, CASE WHEN w.syscall IS NULL OR k.closes THEN a.opened_dev END)
    WHERE w.dur_ns > 0
    UNION ALL
    SELECT s.syscall, NULL, v.dev, s.calls, s.sleeping_ns, v.served_by
    FROM storage_sleep_sums s
    LEFT JOIN served_filesystems v ON v.dev = s.dev
), summed AS (
    SELECT syscall, reason, dev, served_by, CAST(sum(waits) AS BIGINT) AS waits, CAST(sum(ns) AS BIGINT) AS total_ns
    FROM found
    GROUP BY syscall, reason, dev, served_by
), shared AS (
    SELECT *, total_ns / sum(total_ns) OVER (PARTITION BY syscall, reason) AS part FROM summed
)
SELECT syscall, reason, dev, served_by, waits, total_ns, part FROM shared WHERE served_by IS NOT NULL
