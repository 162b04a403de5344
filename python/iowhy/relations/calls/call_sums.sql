-- title: The sums of the system calls of one name by one thread on one file, small ones and durable ones apart
-- uses: _call_rows
-- kept: table
SELECT
    tgid,
    tid,
    name,
    dev,
    ino,
    tiny,
    durable,
    count(*) AS calls,
    sum(errors) AS errors,
    sum(unfinished) AS unfinished,
    sum(total_ns) AS total_ns,
    max(max_ns) AS max_ns,
    sum(cpu_ns) AS cpu_ns,
    sum(cpu_of_ns) AS cpu_of_ns,
    sum(runnable_ns) AS runnable_ns,
    sum(blocked_ns) AS blocked_ns,
    sum(sleeping_ns) AS sleeping_ns,
    sum(asked_bytes) AS asked_bytes,
    sum(done_bytes) AS done_bytes,
    sum(moving) AS moving,
    sum(synced_bytes) AS synced_bytes,
    sum(syncing) AS syncing
FROM _call_rows
GROUP BY tgid, tid, name, dev, ino, tiny, durable
