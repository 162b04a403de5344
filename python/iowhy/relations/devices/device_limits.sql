-- title: Limits of the command's control groups on one device, and what it did there
-- uses: io_limits, request_totals
-- filtered as: nothing
-- The limits are the tightest that were in force. Recordings of earlier versions do not have them by device.
-- column dev: block device, id
-- column read_limit_bytes_per_s: limit on reads; NULL without one, bytes/s
-- column write_limit_bytes_per_s: limit on writes, bytes/s
-- column read_limit_per_s: limit on the number of reads, 1/s
-- column write_limit_per_s: limit on the number of writes, 1/s
-- column reads: read requests of the command there, count
-- column writes: write requests of the command there, count
-- column read_bytes: read by these, bytes
-- column written_bytes: written by these, bytes
SELECT
    l.dev,
    l.read_limit_bytes_per_s,
    l.write_limit_bytes_per_s,
    l.read_limit_per_s,
    l.write_limit_per_s,
    CAST(coalesce(q.reads, 0) AS BIGINT) AS reads,
    CAST(coalesce(q.writes, 0) AS BIGINT) AS writes,
    CAST(coalesce(q.read_bytes, 0) AS BIGINT) AS read_bytes,
    CAST(coalesce(q.written_bytes, 0) AS BIGINT) AS written_bytes
FROM (
    SELECT
        dev,
        min(read_bytes_per_s) AS read_limit_bytes_per_s,
        min(write_bytes_per_s) AS write_limit_bytes_per_s,
        min(read_ops_per_s) AS read_limit_per_s,
        min(write_ops_per_s) AS write_limit_per_s
    FROM io_limits
    GROUP BY dev
) l
LEFT JOIN (
    SELECT
        dev,
        sum(CASE WHEN op = 'read' THEN requests ELSE 0 END) AS reads,
        sum(CASE WHEN op = 'write' THEN requests ELSE 0 END) AS writes,
        sum(CASE WHEN op = 'read' THEN bytes ELSE 0 END) AS read_bytes,
        sum(CASE WHEN op = 'write' THEN bytes ELSE 0 END) AS written_bytes
    FROM request_totals
    WHERE whose = 'command'
    GROUP BY dev
) q ON q.dev = l.dev
