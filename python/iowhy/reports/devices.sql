-- title: Devices
-- question: How busy was each device, with what, and for whom?
-- stands in for: iostat -x
-- filters: since until pid container file
-- about: device utilisation mean_queue await_ns read_bytes_per_s written_bytes_per_s flushes others_time_share
-- column device: block device, text
-- column reads_per_s: read requests completed, 1/s
-- column writes_per_s: write requests completed, 1/s
-- column read_bytes_per_s: read, bytes/s
-- column written_bytes_per_s: written, bytes/s
-- column utilisation: share of the time with at least one request in flight, share
-- column mean_queue: requests in flight (queue to completion), mean over time, number
-- column read_await_ns: mean read, queue to completion, ns
-- column write_await_ns: mean write, queue to completion, ns
-- column mean_read_bytes: mean size of a read, bytes
-- column mean_write_bytes: mean size of a write, bytes
-- column service_ns: mean read or write, issue to completion, ns
-- column best_bytes_per_s: bytes completed in the best second, bytes/s
-- column best_ops_per_s: reads and writes completed in the best second, 1/s
-- column others_share: of the requests that can be charged to somebody, those of others than the command, share
-- column others_time_share: of the time of all requests, those of others than the command, share
-- column shared_share: requests that can be charged to nobody alone (journal, metadata, flush by a kernel thread), share
-- column others_most: who among them has the most time of requests: a container, service or session, else a program or process (relation competing_load), text
-- column unowned_share: requests with data of which neither a file nor the filesystem's own use is known, share
-- column flushes: cache flushes, anybody's, count
-- column flush_ns: mean flush, queue to completion, ns
-- column discards: requests to forget blocks (TRIM), count
-- column discarded_bytes: blocks forgotten, bytes
-- column reads: read requests completed, count
-- column writes: write requests completed, count
-- column read_bytes: read, bytes
-- column written_bytes: written, bytes
-- column await_ns: mean read or write, queue to completion, ns
-- column unseen: requests whose end was not seen: in no time, in counts where they were over, count
-- column failed: requests that ended in an error, count
-- column requeues: times that its driver gave a request back, to be issued again: it could not take it then, or it failed and is tried again, count
-- column source: requests (each one seen) or samples (/proc/diskstats), text
-- column lies_on: device below it; what passes here is seen there again, text
-- Of the requests that were made while the command ran, anybody's; devices that did nothing are left
-- out.
WITH times AS (
    SELECT
        dev,
        sum(CASE WHEN whose = 'others' THEN time_ns ELSE 0 END) / nullif(sum(time_ns), 0) AS others_time_share
    FROM request_totals
    GROUP BY dev
)
SELECT
    coalesce(d.name, CAST(m.dev >> 20 AS VARCHAR) || ':' || CAST(m.dev & 1048575 AS VARCHAR))
        AS device,
    m.reads_per_s,
    m.writes_per_s,
    m.read_bytes_per_s,
    m.written_bytes_per_s,
    m.utilisation,
    m.mean_queue,
    m.read_await_ns,
    m.write_await_ns,
    m.mean_read_bytes,
    m.mean_write_bytes,
    m.service_ns,
    m.best_bytes_per_s,
    m.best_ops_per_s,
    m.others_share,
    t.others_time_share,
    m.shared_share,
    CASE
        WHEN o.processes > 1
            THEN coalesce(o.container, o.comm) || ' (' || CAST(o.processes AS VARCHAR) || ' processes)'
        ELSE coalesce(coalesce(o.container, o.comm) || ' (' || CAST(o.tgid AS VARCHAR) || ')', 'process ' || CAST(o.tgid AS VARCHAR))
    END AS others_most,
    m.unowned_share,
    m.flushes,
    m.flush_ns,
    m.discards,
    m.discarded_bytes,
    m.reads,
    m.writes,
    m.read_bytes,
    m.written_bytes,
    m.await_ns,
    m.unseen,
    m.failed,
    m.requeues,
    m.source,
    below.name AS lies_on
FROM device_totals m
LEFT JOIN devices d ON d.dev = m.dev
LEFT JOIN times t ON t.dev = m.dev AND m.source = 'requests'
LEFT JOIN competing_load o ON o.resource = 'requests' AND o.dev = m.dev AND o.place = 1
LEFT JOIN devices below ON below.dev = d.below_dev
ORDER BY m.utilisation DESC NULLS LAST, device
