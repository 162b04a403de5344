-- title: A device's work by its own counters: medians over the time, of the intervals between readings
-- uses: disk_steps
-- filtered as: nothing
-- Each interval counts for its length: a machine at rest is read less often.
-- Devices that did nothing are left out.
-- column dev: block device, id
-- column place: 1 is the most loaded, number
-- column samples: intervals between readings, count
-- column busy_share: of the time, with a request in flight; NULL if not reported, share
-- column depth: requests in flight while there is any, mean; NULL if not reported, number
-- column reads_per_s: read requests, 1/s
-- column writes_per_s: write requests, 1/s
-- column read_bytes_per_s: read, bytes/s
-- column write_bytes_per_s: written, bytes/s
-- column request_bytes: mean size of a request, bytes
-- column wait_ns: mean time of a request; NULL if not reported, ns
-- column flushes_per_s: cache flushes; NULL where these are not reported, 1/s
-- column load: time summed over requests in flight, ns
-- column best_bytes_per_s: bytes of the best interval, bytes/s
WITH changes AS (
    SELECT
        *,
        coalesce(read_ns, 0) + coalesce(write_ns, 0) AS wait_ns,
        read_ns IS NOT NULL AS timed
    FROM disk_steps
), figures AS (
    -- least() passes over NULL.
    SELECT dev, dur_ns, 'busy_share' AS figure, least(1.0, busy_ns / dur_ns) AS value
    FROM changes
    WHERE busy_ns IS NOT NULL
    UNION ALL
    SELECT dev, dur_ns, 'in_flight', CAST(in_flight AS DOUBLE) FROM changes WHERE in_flight IS NOT NULL
    UNION ALL
    SELECT dev, dur_ns, 'reads', reads * 1e9 / dur_ns FROM changes WHERE reads IS NOT NULL
    UNION ALL
    SELECT dev, dur_ns, 'writes', writes * 1e9 / dur_ns FROM changes WHERE writes IS NOT NULL
    UNION ALL
    SELECT dev, dur_ns, 'read_bytes', read_bytes * 1e9 / dur_ns FROM changes WHERE read_bytes IS NOT NULL
    UNION ALL
    SELECT dev, dur_ns, 'written_bytes', written_bytes * 1e9 / dur_ns FROM changes WHERE written_bytes IS NOT NULL
    UNION ALL
    SELECT dev, dur_ns, 'flushes', flushes * 1e9 / dur_ns FROM changes WHERE flushes IS NOT NULL
), in_order AS (
    SELECT
        dev,
        figure,
        value,
        2 * sum(dur_ns) OVER (PARTITION BY dev, figure ORDER BY value, dur_ns ROWS UNBOUNDED PRECEDING) AS twice_upto_ns,
        sum(dur_ns) OVER (PARTITION BY dev, figure) AS all_ns
    FROM figures
), middles AS (
    -- Half of the time it is no more, and half no less; between two values where either is.
    SELECT
        dev,
        figure,
        (
            min(CASE WHEN twice_upto_ns >= all_ns THEN value END)
            + min(CASE WHEN twice_upto_ns > all_ns THEN value END)
        ) / 2 AS value
    FROM in_order
    GROUP BY dev, figure
), medians AS (
    SELECT
        dev,
        max(CASE WHEN figure = 'busy_share' THEN value END) AS busy_share,
        max(CASE WHEN figure = 'in_flight' THEN value END) AS in_flight,
        max(CASE WHEN figure = 'reads' THEN value END) AS reads_per_s,
        max(CASE WHEN figure = 'writes' THEN value END) AS writes_per_s,
        max(CASE WHEN figure = 'read_bytes' THEN value END) AS read_bytes_per_s,
        max(CASE WHEN figure = 'written_bytes' THEN value END) AS write_bytes_per_s,
        max(CASE WHEN figure = 'flushes' THEN value END) AS flushes_per_s
    FROM middles
    GROUP BY dev
), rates AS (
    SELECT
        c.dev,
        count(*) AS samples,
        max(m.busy_share) AS busy_share,
        -- While there is any in flight, there is at least one: less is rounding of the text.
        -- If nobody printed the mean queue, it is what requests take in all (Little's law); and if none
        -- completes, what is in flight at the readings. greatest() passes over NULL.
        CASE
            WHEN sum(busy_ns) > 0
                AND (sum(queue_ns) IS NOT NULL OR bool_or(timed) OR bool_or(c.in_flight IS NOT NULL))
            THEN greatest(
                1.0,
                coalesce(sum(queue_ns), nullif(sum(wait_ns), 0), 0) / sum(busy_ns),
                CASE WHEN sum(reads + writes) = 0 THEN max(m.in_flight) END
            )
        END AS depth,
        coalesce(max(m.reads_per_s), 0.0) AS reads_per_s,
        coalesce(max(m.writes_per_s), 0.0) AS writes_per_s,
        coalesce(max(m.read_bytes_per_s), 0.0) AS read_bytes_per_s,
        coalesce(max(m.write_bytes_per_s), 0.0) AS write_bytes_per_s,
        sum(read_bytes + written_bytes) / nullif(sum(reads + writes), 0) AS request_bytes,
        CASE WHEN bool_or(timed) THEN sum(wait_ns) / nullif(sum(reads + writes), 0) END AS wait_ns,
        max(m.flushes_per_s) AS flushes_per_s,
        sum(coalesce(queue_ns, wait_ns, 0)) AS load,
        max((read_bytes + written_bytes) * 1e9 / dur_ns) AS best_bytes_per_s,
        sum(reads + writes) AS requests
    FROM changes c
    JOIN medians m ON m.dev = c.dev
    GROUP BY c.dev
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
