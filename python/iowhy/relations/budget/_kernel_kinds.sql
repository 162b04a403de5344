-- title: What a thread's CPU time in the kernel is spent on
-- uses: call_kinds, calls_by_filesystem, thread_calls, thread_intervals
-- kept: table
-- In system calls (of files and directories, or others), freeing memory because there was none (direct reclaim, with
-- the compression of zram and zswap), and the rest: page faults, interrupts, the way into calls and out. Only where the recorder distinguished them.
-- What the recorder took itself is not in it. System calls are known exactly, the whole by what the kernel's ticks met: a thread has never more of any than the whole.
-- column tid: thread, id
-- column kind: what on, text
-- column share: of the thread's CPU time in the kernel, share
WITH file_shares AS (
    -- read and write may be of pipes and sockets.
    SELECT
        name,
        sum(CASE WHEN file_kind IN ('file', 'directory', 'device') THEN cpu_ns ELSE 0 END) / sum(cpu_ns) AS share
    FROM calls_by_filesystem
    GROUP BY name
    HAVING sum(cpu_ns) > 0
), of_files AS (
    -- The calls' own lengths hold the recorder's part; in calls_ns it is not.
    SELECT
        c.tid,
        sum(CASE WHEN k.name IS NOT NULL THEN c.cpu_ns * coalesce(s.share, 1) ELSE 0 END) AS ns,
        sum(c.cpu_ns) AS all_ns
    FROM thread_calls c
    LEFT JOIN call_kinds k ON k.name = c.name AND k.kind IS NOT NULL AND k.kind <> 'idle'
    LEFT JOIN file_shares s ON s.name = c.name
    GROUP BY c.tid
), told AS (
    SELECT
        tid,
        sum(kernel_ns) AS kernel_ns,
        least(sum(calls_ns), sum(kernel_ns)) AS calls_ns,
        -- least() passes over NULL.
        CASE WHEN sum(reclaim_ns) IS NOT NULL THEN least(sum(reclaim_ns), sum(kernel_ns)) END AS reclaim_ns
    FROM thread_intervals
    WHERE calls_ns IS NOT NULL
    GROUP BY tid
    HAVING sum(kernel_ns) > 0
), fitted AS (
    SELECT
        t.tid,
        t.kernel_ns,
        coalesce(t.reclaim_ns, 0) AS reclaim_ns,
        least(t.calls_ns, t.kernel_ns - coalesce(t.reclaim_ns, 0)) AS calls_ns,
        least(
            coalesce(f.ns, 0) * least(t.calls_ns / nullif(f.all_ns, 0), 1),
            t.calls_ns,
            t.kernel_ns - coalesce(t.reclaim_ns, 0)
        ) AS files_ns
    FROM told t
    LEFT JOIN of_files f ON f.tid = t.tid
)
SELECT tid, 'calls on files' AS kind, files_ns / kernel_ns AS share FROM fitted WHERE files_ns > 0
UNION ALL
SELECT tid, 'other calls', (calls_ns - files_ns) / kernel_ns FROM fitted WHERE calls_ns > files_ns
UNION ALL
SELECT tid, 'freeing memory', reclaim_ns / kernel_ns FROM fitted WHERE reclaim_ns > 0
UNION ALL
SELECT tid, 'page faults, interrupts, call entry', (kernel_ns - calls_ns - reclaim_ns) / kernel_ns
FROM fitted
WHERE kernel_ns > calls_ns + reclaim_ns
