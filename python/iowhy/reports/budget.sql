-- title: Time budget
-- question: Where did every thread-second of the command go?
-- stands in for: latencytop, off-CPU analysis, thread-state views
-- filters: since until pid container
-- about: class elapsed_ns share_of_elapsed thread_ns
-- column class: what the time was spent on, text
-- column thread_ns: time of all threads; the classes sum to the threads' lifetimes, ns
-- column share_of_thread_time: of all thread time, share
-- column elapsed_ns: of the elapsed time, by what the threads that were not idle did, ns
-- column share_of_elapsed: the same, share
-- The numbers are those of the verdict (docs/budget.md): uninterruptible time is classified by the waits in
-- it, the rest of it is unexplained. In fsync-like calls waits for pages, requests, journal and flushes are
-- waiting for sync; waits for writeback, the journal or a flush in a write are too (O_SYNC). Interruptible sleep
-- is idle, but for I/O calls on files, and for calls that collect asynchronous I/O as far as requests of their
-- ring or context were in flight.
-- The elapsed time: in each slice of it the classes of the threads share the slice in proportion to
-- their time that is not idle. Threads that are busy in turn add up to the slice, threads that are
-- busy together share it, and what is left when all were idle is idle. So an idle parent that waits
-- for its child does not dilute the child's cause. With --since and --until the elapsed time is the
-- chosen part; with --pid it stays that of the command.
-- Without threads (other tools' output) the shares are of what those count: docs/budget.md.
WITH sums AS (
    SELECT
        class,
        CAST(sum(thread_ns) AS BIGINT) AS thread_ns,
        CAST(sum(elapsed_part) AS BIGINT) AS elapsed_part,
        CAST(sum(elapsed_ns) AS BIGINT) AS elapsed_ns
    FROM budget_pieces
    GROUP BY class
), totals AS (
    SELECT
        CAST(sum(thread_ns) AS BIGINT) AS thread_ns,
        CAST(sum(elapsed_part) AS BIGINT) AS elapsed_part,
        CAST(sum(elapsed_ns) AS BIGINT) AS elapsed_ns
    FROM sums
), listed AS (
    SELECT
        c.place,
        c.class,
        t.thread_ns AS all_thread_ns,
        t.elapsed_part AS all_elapsed_part,
        CASE WHEN t.thread_ns IS NOT NULL THEN coalesce(s.thread_ns, 0) END AS thread_ns,
        CASE WHEN t.elapsed_part IS NOT NULL THEN coalesce(s.elapsed_part, 0) END AS elapsed_part,
        CASE WHEN t.elapsed_ns IS NOT NULL THEN coalesce(s.elapsed_ns, 0) END AS elapsed_ns
    FROM budget_classes c
    CROSS JOIN totals t
    LEFT JOIN sums s ON s.class = c.class
)
SELECT
    class,
    thread_ns,
    thread_ns / nullif(all_thread_ns, 0) AS share_of_thread_time,
    elapsed_ns,
    elapsed_part / all_elapsed_part AS share_of_elapsed
FROM listed
ORDER BY place
