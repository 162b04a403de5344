-- title: Operations of NFS
-- question: What did NFS mounts ask of their servers, and how long did the answers take?
-- stands in for: nfsiostat, mountstats
-- about: mount op operations mean_rtt_ns mean_execute_ns transmissions timeouts
-- column mount: mount point, text
-- column op: READ, WRITE, GETATTR, …, text
-- column operations: operations that ended, count
-- column transmissions: times that one was sent; more than operations: again, count
-- column timeouts: times that one had no answer in time, count
-- column sent_bytes: sent, bytes
-- column received_bytes: received, bytes
-- column mean_queue_ns: until it was sent, ns
-- column mean_rtt_ns: from there to the answer: the network and the server, ns
-- column mean_execute_ns: in all, ns
-- All that the machine asked, not the command alone; the kernel's client does not distinguish the server's time from the network's.
SELECT
    mount,
    op,
    operations,
    transmissions,
    timeouts,
    sent_bytes,
    received_bytes,
    mean_queue_ns,
    mean_rtt_ns,
    mean_execute_ns
FROM remote_operations
ORDER BY execute_ns DESC, mount, op
