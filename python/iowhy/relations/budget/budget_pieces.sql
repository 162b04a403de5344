-- title: A piece of the time budget: time of one class with the call and reason behind it
-- uses: budget_classes, budget_sums, budget_totals
-- kept: table
-- Whole nanoseconds that add up: thread_ns to the time of all threads, elapsed_part to the elapsed time (to
-- 10^12 if not known how long that was). What rounding leaves goes to the largest piece that was
-- rounded.
-- column class: class (budget_classes), text
-- column syscall: call, text
-- column reason: reason, text
-- column mode: how the CPUs were used then, if it is time on or for a CPU, text
-- column thread_ns: time of all threads; NULL where nothing counts threads, ns
-- column elapsed_part: of the elapsed time, number
-- column elapsed_ns: of the elapsed time; NULL where its length is not known, ns
-- column origin: what it is computed from: threads, calls, totals, latencytop, curt or machine, text
WITH sums AS (
    SELECT
        origin, class, syscall, reason, mode,
        CAST(sum(thread_parts) AS BIGINT) AS thread_parts,
        CAST(sum(elapsed_parts) AS BIGINT) AS elapsed_parts
    FROM budget_sums
    GROUP BY origin, class, syscall, reason, mode
), rounded AS (
    SELECT
        s.*,
        t.thread_ns AS all_thread_ns,
        t.elapsed_ns AS all_elapsed_ns,
        coalesce(t.elapsed_ns, 1000000000000) AS all_elapsed_part,
        s.thread_parts // 16 AS thread_ns,
        s.elapsed_parts * (coalesce(t.elapsed_ns, 1000000000000) / t.elapsed_parts) AS exact_part
    FROM sums s
    CROSS JOIN budget_totals t
    WHERE s.thread_parts > 0 OR s.elapsed_parts > 0
), floored AS (
    SELECT
        *,
        CAST(floor(exact_part) AS BIGINT) AS elapsed_part,
        row_number() OVER (
            ORDER BY CASE WHEN thread_parts % 16 > 0 THEN 0 ELSE 1 END, thread_parts DESC,
                class, coalesce(syscall, ''), coalesce(reason, ''), coalesce(mode, '')
        ) AS thread_place,
        row_number() OVER (
            ORDER BY CASE WHEN exact_part > floor(exact_part) THEN 0 ELSE 1 END, exact_part DESC,
                class, coalesce(syscall, ''), coalesce(reason, ''), coalesce(mode, '')
        ) AS elapsed_place
    FROM rounded
), adjusted AS (
    SELECT
        *,
        thread_ns + CASE WHEN thread_place = 1 THEN all_thread_ns - sum(thread_ns) OVER () ELSE 0 END
            AS own_thread_ns,
        elapsed_part
            + CASE WHEN elapsed_place = 1 THEN all_elapsed_part - sum(elapsed_part) OVER () ELSE 0 END
            AS own_elapsed_part
    FROM floored
)
SELECT
    c.class,
    a.syscall,
    a.reason,
    a.mode,
    CAST(a.own_thread_ns AS BIGINT) AS thread_ns,
    CAST(a.own_elapsed_part AS BIGINT) AS elapsed_part,
    CAST(CASE WHEN a.all_elapsed_ns IS NOT NULL THEN a.own_elapsed_part END AS BIGINT) AS elapsed_ns,
    a.origin
FROM adjusted a
JOIN budget_classes c ON c.key = a.class
