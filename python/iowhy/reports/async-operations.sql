-- title: Asynchronous operations
-- question: What was done through io_uring and libaio, how long did it take, and who did it?
-- stands in for: fio's own numbers; io_uring tracepoints by hand
-- filters: since until pid container file
-- about: path op operations moved_bytes mean_ns p99_ns in_flight
-- column path: path of the file; unknown if it has none, text
-- column api: io_uring or libaio, text
-- column op: what was done, text
-- column ran: who began it: inline (the thread that submitted it), poll thread (the kernel's, of a polled ring) or worker, text
-- column operations: operations, count
-- column asked_bytes: bytes asked for, bytes
-- column moved_bytes: bytes moved, by the results, bytes
-- column mean_ns: from submission to result; of libaio until io_getevents gave it, ns
-- column p50_ns: median of that, ns
-- column p99_ns: 99th percentile of that, ns
-- column max_ns: longest of that, ns
-- column in_flight: operations under way, on average over the time in which the first was submitted and the last done, number
-- column direct: of these, past the page cache (O_DIRECT), count
-- column registered: of these, with a registered file or buffer, count
-- column linked: of these, followed by one that waits for it, count
-- column errors: of these, failed, count
-- column unfinished: of these, end not seen, count
-- column results: results that they gave; several of a multishot operation, count
-- column dev: device number of the filesystem, id
-- column ino: inode, id
SELECT
    max(f.path) AS path,
    a.api,
    a.op,
    a.ran,
    count(*) AS operations,
    sum(a.bytes) AS asked_bytes,
    sum(a.moved_bytes) AS moved_bytes,
    avg(a.complete_ns - a.submit_ns) AS mean_ns,
    quantile_cont(a.complete_ns - a.submit_ns, 0.5) AS p50_ns,
    quantile_cont(a.complete_ns - a.submit_ns, 0.99) AS p99_ns,
    max(a.complete_ns - a.submit_ns) AS max_ns,
    sum(a.complete_ns - a.submit_ns)
        / nullif(CAST(max(a.complete_ns) - min(CASE WHEN a.complete_ns IS NOT NULL THEN a.submit_ns END) AS DOUBLE), 0)
        AS in_flight,
    count(CASE WHEN list_contains(a.flags, 'direct') THEN 1 END) AS direct,
    count(CASE WHEN list_contains(a.flags, 'fixed_file') OR list_contains(a.flags, 'fixed_buffer') THEN 1 END)
        AS registered,
    count(CASE WHEN list_contains(a.flags, 'linked') THEN 1 END) AS linked,
    sum(CASE WHEN a.ret < 0 THEN 1 ELSE 0 END) AS errors,
    count(*) - count(a.complete_ns) AS unfinished,
    sum(a.results) AS results,
    a.dev,
    a.ino
FROM async_operations a
LEFT JOIN named_files f ON f.dev = a.dev AND f.ino = a.ino
GROUP BY a.api, a.op, a.ran, a.dev, a.ino
ORDER BY sum(a.complete_ns - a.submit_ns) DESC NULLS LAST, count(*) DESC, a.api, a.op, a.ran, a.dev, a.ino
