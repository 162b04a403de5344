-- title: What one disk did between two readings of its counters
-- uses: disk_samples
-- filtered as: disk_samples
-- What is not reported by either reading is NULL.
-- column dev: block device, id
-- column before_ns: the earlier reading, ns
-- column ts_ns: the later reading, ns
-- column dur_ns: from one to the other, ns
-- column reads: read requests completed, count
-- column writes: write requests completed, count
-- column read_bytes: read, bytes
-- column written_bytes: written, bytes
-- column read_ns: time of reads, summed over requests, ns
-- column write_ns: time of writes, summed over requests, ns
-- column busy_ns: with a request in flight, ns
-- column queue_ns: time in flight, summed over requests, ns
-- column flushes: cache flushes completed, count
-- column flush_ns: time of flushes, summed, ns
-- column discards: discards completed, count
-- column discarded_bytes: discarded, bytes
-- column in_flight: requests in flight at the later reading, count
-- column silent: it completed none, and had some: at the later reading, or, if that is not reported, all of the time, bool
WITH changes AS (
    SELECT
        dev,
        lag(ts_ns) OVER one AS before_ns,
        ts_ns,
        ts_ns - lag(ts_ns) OVER one AS dur_ns,
        reads - lag(reads) OVER one AS reads,
        writes - lag(writes) OVER one AS writes,
        read_bytes - lag(read_bytes) OVER one AS read_bytes,
        written_bytes - lag(written_bytes) OVER one AS written_bytes,
        read_ns - lag(read_ns) OVER one AS read_ns,
        write_ns - lag(write_ns) OVER one AS write_ns,
        busy_ns - lag(busy_ns) OVER one AS busy_ns,
        queue_ns - lag(queue_ns) OVER one AS queue_ns,
        flushes - lag(flushes) OVER one AS flushes,
        flush_ns - lag(flush_ns) OVER one AS flush_ns,
        discards - lag(discards) OVER one AS discards,
        discarded_bytes - lag(discarded_bytes) OVER one AS discarded_bytes,
        in_flight
    FROM disk_samples
    WINDOW one AS (PARTITION BY dev ORDER BY ts_ns)
)
SELECT
    *,
    coalesce(
        reads + writes + coalesce(flushes, 0) + coalesce(discards, 0) = 0
        AND CASE WHEN in_flight IS NULL THEN busy_ns >= 0.99 * dur_ns ELSE in_flight > 0 END,
        false
    ) AS silent
FROM changes
WHERE dur_ns > 0
