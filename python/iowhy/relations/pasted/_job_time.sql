-- title: Elapsed time of a job of many processes by class, as its slowest process spends it in calls of I/O
-- uses: measurements
-- filtered as: nothing
-- column class: key of the class, text
-- column syscall: call, NULL outside any, text
-- column reason: what it went into if that is neither a read nor a write, text
-- column total_ns: of the job's elapsed time, ns
SELECT
    k.class,
    k.syscall,
    k.reason,
    CAST(round(1e9 * sum(m.value)) AS BIGINT) AS total_ns
FROM measurements m
JOIN (
    VALUES
    ('elapsed_read_s', 'read', 'read', NULL),
    ('elapsed_write_s', 'write', 'write', NULL),
    ('elapsed_metadata_s', 'unexplained', 'open', 'opening, looking up and closing files'),
    ('elapsed_exchange_s', 'unexplained', NULL, 'exchanging data between processes within MPI-IO'),
    ('elapsed_other_s', 'user', NULL, NULL)
) AS k(metric, class, syscall, reason) ON k.metric = m.metric
-- Three years: what is longer is a text that is broken, and would cost everything next to it.
WHERE lower(m.tool) = 'darshan' AND m.subject = 'job' AND m.value > 0 AND m.value < 1e8
GROUP BY k.class, k.syscall, k.reason
