-- title: Events in order
-- question: What did the threads do, in order? (--pid takes a thread's id too)
-- stands in for: trcrpt, truss -D, strace -f -r
-- in order of: command_events.ts_ns
-- about: at_s tid event name dur_ns path bytes
-- column at_s: begin, after the start of the recording, s
-- column tid: thread; of a request, the one that submitted it, id
-- column event: call, operation (of io_uring or libaio), wait or request, text
-- column name: the call; io_uring or libaio and the operation; the reason of the wait; the operation of the request, text
-- column since_ns: from the end of the thread's previous call to this one's begin, ns
-- column dur_ns: length; of a request, from queue to completion, ns
-- column path: file, or the device of a request without one, text
-- column offset: byte offset in the file; of a request, on the device, bytes
-- column bytes: bytes asked for, bytes
-- column ret: result of the call; error of the request, number
-- column cpu_ns: of dur_ns, on a CPU, ns
-- column runnable_ns: of dur_ns, ready and waiting for a CPU, ns
-- column blocked_ns: of dur_ns, in uninterruptible sleep, ns
-- column sleeping_ns: of dur_ns, in interruptible sleep, ns
-- column comm: name of the thread, text
-- column tgid: process, id
-- column fd: file descriptor, number
SELECT
    (h.ts_ns - r.start_ns) / 1e9 AS at_s,
    h.tid,
    h.event,
    h.name,
    CASE WHEN h.event = 'call' THEN h.ts_ns - lag(h.ts_ns + h.dur_ns) OVER (PARTITION BY h.tid, h.event ORDER BY h.ts_ns) END AS since_ns,
    h.dur_ns,
    coalesce(p.path, d.name) AS path,
    h."offset",
    h.bytes,
    h.ret,
    h.cpu_ns,
    h.runnable_ns,
    h.blocked_ns,
    h.sleeping_ns,
    n.comm,
    h.tgid,
    h.fd
FROM command_events h
CROSS JOIN recording r
LEFT JOIN named_threads n ON n.tgid = h.tgid AND n.tid = h.tid
LEFT JOIN named_files p ON p.dev = h.dev AND p.ino = h.ino
LEFT JOIN devices d ON d.dev = h.disk
ORDER BY h.ts_ns, h.tid, h.nested, h.name, h."offset", h.dur_ns
