-- title: What one NFS mount asked of its server, by kind of operation, between the first reading and the last
-- uses: filesystems, remote_samples
-- filtered as: nothing
-- All that the machine asked, not the command alone. Times are kept in ms by the kernel, summed over operations.
-- column dev: the filesystem, id
-- column mount: mount point; NULL if not known, text
-- column op: READ, WRITE, GETATTR, …, text
-- column operations: operations that ended, count
-- column transmissions: times that one was sent, count
-- column timeouts: times that one had no answer in time, count
-- column sent_bytes: sent, bytes
-- column received_bytes: received, bytes
-- column mean_queue_ns: until it was sent, ns
-- column mean_rtt_ns: from there to the answer, ns
-- column mean_execute_ns: in all, ns
-- column execute_ns: in all, summed over operations, ns
WITH counted AS (
    SELECT
        dev,
        op,
        max(operations) - min(operations) AS operations,
        max(transmissions) - min(transmissions) AS transmissions,
        max(timeouts) - min(timeouts) AS timeouts,
        max(sent_bytes) - min(sent_bytes) AS sent_bytes,
        max(received_bytes) - min(received_bytes) AS received_bytes,
        max(queue_ns) - min(queue_ns) AS queue_ns,
        max(rtt_ns) - min(rtt_ns) AS rtt_ns,
        max(execute_ns) - min(execute_ns) AS execute_ns
    FROM remote_samples
    GROUP BY dev, op
)
SELECT
    c.dev, f.mount, c.op, c.operations, c.transmissions, c.timeouts, c.sent_bytes, c.received_bytes,
    c.queue_ns / c.operations AS mean_queue_ns,
    c.rtt_ns / c.operations AS mean_rtt_ns,
    c.execute_ns / c.operations AS mean_execute_ns,
    c.execute_ns
FROM counted c
LEFT JOIN (SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev) f ON f.dev = c.dev
WHERE c.operations > 0
