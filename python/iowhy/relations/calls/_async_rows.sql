-- title: An operation of io_uring or libaio on a file, in the shape of a call
-- uses: async_operations, call_kinds
-- It is under way from its submission to its result, whoever carries it out; how much of that is on a CPU is not known. The columns are
-- those of syscalls. Operations that no call on files is like (a timeout, a poll) are left out.
-- column dur_ns: from submission to result; NULL where its end was not seen, ns
SELECT
    a.submit_ns AS ts_ns,
    a.complete_ns - a.submit_ns AS dur_ns,
    CAST(NULL AS BIGINT) AS cpu_ns,
    CAST(NULL AS BIGINT) AS runnable_ns,
    CAST(NULL AS BIGINT) AS blocked_ns,
    CAST(NULL AS BIGINT) AS sleeping_ns,
    a.tgid,
    a.tid,
    k.name,
    CAST(NULL AS BIGINT) AS fd,
    a.dev,
    a.ino,
    a."offset",
    a.bytes,
    a.ring,
    a.durable,
    CASE WHEN a.ret < 0 THEN a.ret ELSE coalesce(a.moved_bytes, a.ret) END AS ret
FROM async_operations a
JOIN call_kinds k ON k.name = a.api || ' ' || a.op
