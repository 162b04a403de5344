-- title: A device's work while the command ran, by its requests, else by samples of its counters
-- uses: block_requests, device_seconds, disk_steps, flight_sums, recording
-- Of the requests that were made while the command ran, anybody's; devices that did nothing are left
-- out. Writes are counted as /proc/diskstats counts them, with those of no bytes, which ask for a flush; that is a separate
-- request, and in flight, or somebody's, once.
-- column dev: block device, id
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
-- column shared_share: requests that can be charged to nobody alone (journal, metadata, flush by a kernel thread), share
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
-- column requeues: times that its driver gave a request back, to be issued again; NULL where that was not seen, count
-- column source: requests (each one seen) or samples (/proc/diskstats), text
WITH done AS (
    -- All else is added up from these sums, a few for each second.
    SELECT *, op IN ('read', 'write') AS moves FROM device_seconds
), seconds AS (
    SELECT dev, second, sum(bytes) AS bytes, sum(requests) AS ops
    FROM done
    WHERE moves AND second IS NOT NULL
    GROUP BY dev, second
), best AS (
    SELECT dev, CAST(max(bytes) AS BIGINT) AS bytes, CAST(max(ops) AS BIGINT) AS ops FROM seconds GROUP BY dev
), by_op AS (
    SELECT
        dev,
        op,
        moves,
        in_scope,
        unowned,
        empty,
        sum(requests) AS requests,
        sum(CASE WHEN second IS NOT NULL THEN requests ELSE 0 END) AS ended,
        sum(CASE WHEN second IS NOT NULL THEN bytes ELSE 0 END) AS ended_bytes,
        sum(seen) AS seen,
        sum(time_ns) AS time_ns,
        sum(served) AS served,
        sum(service_ns) AS service_ns,
        sum(failed) AS failed,
        sum(requeues) AS requeues
    FROM done
    GROUP BY dev, op, moves, in_scope, unowned, empty
), counted AS (
    SELECT
        dev,
        CAST(sum(CASE WHEN op = 'read' THEN ended ELSE 0 END) AS BIGINT) AS reads,
        CAST(sum(CASE WHEN op = 'write' THEN ended ELSE 0 END) AS BIGINT) AS writes,
        sum(CASE WHEN op = 'read' THEN ended_bytes ELSE 0 END) AS read_bytes,
        sum(CASE WHEN op = 'write' THEN ended_bytes ELSE 0 END) AS written_bytes,
        sum(CASE WHEN op = 'read' THEN time_ns END) / nullif(sum(CASE WHEN op = 'read' THEN seen END), 0)
            AS read_await_ns,
        sum(CASE WHEN op = 'write' THEN time_ns END) / nullif(sum(CASE WHEN op = 'write' THEN seen END), 0)
            AS write_await_ns,
        sum(CASE WHEN moves THEN time_ns END) / nullif(sum(CASE WHEN moves THEN seen END), 0) AS await_ns,
        sum(CASE WHEN moves THEN service_ns END) / nullif(sum(CASE WHEN moves THEN served END), 0) AS service_ns,
        sum(CASE WHEN NOT in_scope AND NOT empty THEN requests ELSE 0 END)
            / nullif(sum(CASE WHEN in_scope IS NOT NULL AND NOT empty THEN requests END), 0) AS others_share,
        sum(CASE WHEN in_scope IS NULL AND NOT empty THEN requests ELSE 0 END)
            / nullif(sum(CASE WHEN NOT empty THEN requests END), 0) AS shared_share,
        sum(CASE WHEN moves AND unowned AND NOT empty THEN requests ELSE 0 END)
            / nullif(sum(CASE WHEN moves AND NOT empty THEN requests END), 0) AS unowned_share,
        CAST(sum(CASE WHEN op = 'flush' THEN ended ELSE 0 END) AS BIGINT) AS flushes,
        sum(CASE WHEN op = 'flush' THEN time_ns END) / nullif(sum(CASE WHEN op = 'flush' THEN seen END), 0)
            AS flush_ns,
        CAST(sum(CASE WHEN op = 'discard' THEN ended ELSE 0 END) AS BIGINT) AS discards,
        sum(CASE WHEN op = 'discard' THEN ended_bytes ELSE 0 END) AS discarded_bytes,
        CAST(sum(requests - seen) AS BIGINT) AS unseen,
        CAST(sum(failed) AS BIGINT) AS failed,
        sum(requeues) AS requeues
    FROM by_op
    GROUP BY dev
), best_sampled AS (
    SELECT dev, max(ops_per_s) AS ops_per_s, max(bytes_per_s) AS bytes_per_s
    FROM (
        -- Up to the last reading of each second, so that it is about a second's work.
        SELECT
            s.dev,
            sum(s.reads + s.writes) * 1e9 / sum(s.dur_ns) AS ops_per_s,
            sum(s.read_bytes + s.written_bytes) * 1e9 / sum(s.dur_ns) AS bytes_per_s
        FROM disk_steps s
        CROSS JOIN recording r
        GROUP BY s.dev, CAST(floor((s.ts_ns - r.start_ns) / 1e9) AS BIGINT)
    ) AS seconds
    GROUP BY dev
), sampled AS (
    SELECT
        dev,
        CAST(sum(dur_ns) AS BIGINT) AS span_ns,
        CAST(sum(reads) AS BIGINT) AS reads,
        CAST(sum(writes) AS BIGINT) AS writes,
        sum(read_bytes) AS read_bytes,
        sum(written_bytes) AS written_bytes,
        sum(read_ns) AS read_ns,
        sum(write_ns) AS write_ns,
        sum(busy_ns) AS busy_ns,
        sum(queue_ns) AS queue_ns,
        CAST(sum(flushes) AS BIGINT) AS flushes,
        sum(flush_ns) AS flush_ns,
        CAST(sum(discards) AS BIGINT) AS discards,
        sum(discarded_bytes) AS discarded_bytes
    FROM disk_steps
    -- Samples reach beyond the run: they speak for a device whose requests nobody saw, not for one
    -- whose requests all are before or after it.
    WHERE dev NOT IN (SELECT dev FROM block_requests)
    GROUP BY dev
    HAVING sum(reads + writes + coalesce(flushes, 0)) > 0
)
SELECT
    c.dev,
    'requests' AS source,
    c.reads * 1e9 / nullif(r.elapsed_ns, 0) AS reads_per_s,
    c.writes * 1e9 / nullif(r.elapsed_ns, 0) AS writes_per_s,
    c.read_bytes * 1e9 / nullif(r.elapsed_ns, 0) AS read_bytes_per_s,
    c.written_bytes * 1e9 / nullif(r.elapsed_ns, 0) AS written_bytes_per_s,
    c.read_bytes / nullif(c.reads, 0) AS mean_read_bytes,
    c.written_bytes / nullif(c.writes, 0) AS mean_write_bytes,
    q.area_ns / nullif(r.elapsed_ns, 0) AS mean_queue,
    c.read_await_ns,
    c.write_await_ns,
    c.service_ns,
    q.busy_ns / nullif(r.elapsed_ns, 0) AS utilisation,
    b.bytes * 1e9 / nullif(least(r.elapsed_ns, 1000000000), 0) AS best_bytes_per_s,
    b.ops * 1e9 / nullif(least(r.elapsed_ns, 1000000000), 0) AS best_ops_per_s,
    c.others_share,
    c.shared_share,
    c.unowned_share,
    c.flushes,
    c.flush_ns,
    c.discards,
    c.discarded_bytes,
    c.reads,
    c.writes,
    c.read_bytes,
    c.written_bytes,
    c.await_ns,
    c.unseen,
    c.failed,
    c.requeues
FROM counted c
CROSS JOIN recording r
LEFT JOIN flight_sums q ON q.dev = c.dev
LEFT JOIN best b ON b.dev = c.dev
UNION ALL
SELECT
    s.dev,
    'samples',
    s.reads * 1e9 / nullif(s.span_ns, 0),
    s.writes * 1e9 / nullif(s.span_ns, 0),
    s.read_bytes * 1e9 / nullif(s.span_ns, 0),
    s.written_bytes * 1e9 / nullif(s.span_ns, 0),
    s.read_bytes / nullif(s.reads, 0),
    s.written_bytes / nullif(s.writes, 0),
    s.queue_ns / nullif(s.span_ns, 0),
    s.read_ns / nullif(s.reads, 0),
    s.write_ns / nullif(s.writes, 0),
    NULL,
    s.busy_ns / nullif(s.span_ns, 0),
    b.bytes_per_s,
    b.ops_per_s,
    NULL,
    NULL,
    NULL,
    s.flushes,
    s.flush_ns / nullif(s.flushes, 0),
    s.discards,
    s.discarded_bytes,
    s.reads,
    s.writes,
    s.read_bytes,
    s.written_bytes,
    (s.read_ns + s.write_ns) / nullif(s.reads + s.writes, 0),
    NULL,
    NULL,
    NULL
FROM sampled s
LEFT JOIN best_sampled b ON b.dev = s.dev
