-- title: A device's work by its own counters: medians over the intervals between readings
-- filtered as: nothing
-- Devices that did nothing are left out.
-- column dev: block device, id
-- column place: 1 is the most loaded, number
-- column samples: intervals between readings, count
-- column busy_share: of the time, with a request in flight; NULL where that is not told, share
-- column depth: requests in flight while there is any, mean; NULL where that is not told, number
-- column reads_per_s: read requests, 1/s
-- column writes_per_s: write requests, 1/s
-- column read_bytes_per_s: read, bytes/s
-- column write_bytes_per_s: written, bytes/s
-- column request_bytes: mean size of a request, bytes
-- column wait_ns: mean time of a request; NULL where that is not told, ns
-- column flushes_per_s: cache flushes; NULL where these are not told, 1/s
-- column load: time summed over requests in flight, ns
-- column best_bytes_per_s: bytes of the best interval, bytes/s
WITH changes AS (
    SELECT
        *,
        coalesce(read_ns, 0) + coalesce(write_ns, 0) AS wait_ns,
        read_ns IS NOT NULL AS timed
    FROM main.disk_steps
), rates AS (
    SELECT
        dev,
        count(*) AS samples,
        -- least() passes over NULL.
        quantile_cont(CASE WHEN busy_ns IS NOT NULL THEN least(1.0, busy_ns / dur_ns) END, 0.5)
            AS busy_share,
        -- While there is any in flight, there is at least one: less is rounding of the text.
        -- Where nobody printed the mean queue, it is what requests take in all (Little's law); and where none
        -- completes, what is in flight at the readings. greatest() passes over NULL.
        CASE
            WHEN sum(busy_ns) > 0
                AND (sum(queue_ns) IS NOT NULL OR bool_or(timed) OR bool_or(in_flight IS NOT NULL))
            THEN greatest(
                1.0,
                coalesce(sum(queue_ns), nullif(sum(wait_ns), 0), 0) / sum(busy_ns),
                CASE WHEN sum(queue_ns) IS NULL AND sum(reads + writes) = 0
                    THEN quantile_cont(in_flight, 0.5) END
            )
        END AS depth,
        coalesce(quantile_cont(reads * 1e9 / dur_ns, 0.5), 0.0) AS reads_per_s,
        coalesce(quantile_cont(writes * 1e9 / dur_ns, 0.5), 0.0) AS writes_per_s,
        coalesce(quantile_cont(read_bytes * 1e9 / dur_ns, 0.5), 0.0) AS read_bytes_per_s,
        coalesce(quantile_cont(written_bytes * 1e9 / dur_ns, 0.5), 0.0) AS write_bytes_per_s,
        sum(read_bytes + written_bytes) / nullif(sum(reads + writes), 0) AS request_bytes,
        CASE WHEN bool_or(timed) THEN sum(wait_ns) / nullif(sum(reads + writes), 0) END AS wait_ns,
        quantile_cont(flushes * 1e9 / dur_ns, 0.5) AS flushes_per_s,
        sum(coalesce(queue_ns, wait_ns, 0)) AS load,
        max((read_bytes + written_bytes) * 1e9 / dur_ns) AS best_bytes_per_s,
        sum(reads + writes) AS requests
    FROM changes
    GROUP BY dev
    HAVING sum(reads + writes) > 0 OR sum(busy_ns) > 0
)
SELECT
    dev,
    row_number() OVER (ORDER BY load DESC, requests DESC, dev) AS place,
    samples,
    busy_share,
    depth,
    reads_per_s,
    writes_per_s,
    read_bytes_per_s,
    write_bytes_per_s,
    request_bytes,
    wait_ns,
    flushes_per_s,
    load,
    best_bytes_per_s
FROM rates
