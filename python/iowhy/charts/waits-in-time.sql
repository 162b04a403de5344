-- title: Uninterruptible waits
-- question: What did threads wait for inside the kernel in the chosen time?
-- report: waits
-- draws: narrowed
-- place: 240
-- needs: waits
-- By when they began.
-- column reason: class of the wait, from its kernel stack, text
-- column syscall: call that the thread was in; NULL outside any, text
-- column waits: waits that began, count
-- column total_ns: their durations, ns
-- column max_ns: the longest, ns
-- column io_ns: of the durations, what the kernel itself counts as I/O wait, ns
SELECT
    ts_ns, reason, syscall, 1 AS waits, dur_ns AS total_ns, dur_ns AS max_ns,
    CASE WHEN io THEN dur_ns ELSE 0 END AS io_ns
FROM waits
