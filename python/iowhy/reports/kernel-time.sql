-- title: CPU time in the kernel
-- question: What did the kernel do on a CPU for the command?
-- stands in for: perf top, mpstat
-- filters: since until pid container
-- about: kind thread_ns share_of_kernel_time elapsed_ns
-- column kind: calls on files, other calls, freeing memory, page faults, interrupts, call entry; NULL if not distinguished, text
-- column thread_ns: time of all threads, ns
-- column share_of_kernel_time: of their time in the kernel on a CPU, share
-- column elapsed_ns: what falls to it of the elapsed time (docs/budget.md), ns
-- All of it is by the kernel's own accounting, that of getrusage; system calls and the freeing of memory (direct
-- reclaim) are measured, and what is left is page faults, interrupts and the way into calls and out.
WITH kinds AS (
    SELECT
        reason AS kind,
        CAST(sum(thread_ns) AS BIGINT) AS thread_ns,
        CAST(sum(elapsed_ns) AS BIGINT) AS elapsed_ns
    FROM budget_pieces
    WHERE class IN (SELECT class FROM budget_classes WHERE key = 'kernel')
    GROUP BY reason
)
SELECT
    kind,
    thread_ns,
    thread_ns / nullif(sum(thread_ns) OVER (), 0) AS share_of_kernel_time,
    elapsed_ns
FROM kinds
ORDER BY thread_ns DESC, kind
