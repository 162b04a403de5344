-- title: One device in one slice of the time that the command ran (recording.slice_ns)
-- uses: block_requests, disk_steps, recording
-- A device that had requests has a row for every slice: if none was in flight, it did nothing, which is known.
-- Where requests were not seen, the samples of /proc/diskstats replace them. Writes of no bytes are counted as there; in flight is the flush
-- that they ask for.
-- column dev: block device, id
-- column slice: number of the slice, from 0, number
-- column span_ns: its length, ns
-- column reads: read requests completed, count
-- column writes: write requests completed, count
-- column read_bytes: read, bytes
-- column written_bytes: written, bytes
-- column area_ns: time in flight summed over requests, ns
-- column await_ns: mean read or write, queue to completion, ns
-- column busy_ns: with at least one request in flight, ns
-- column deep_ns: with at least two requests in flight, ns
-- column flushes: cache flushes completed, count
-- column others_share: of the requests that can be charged to somebody, those of others than the command, share
WITH done AS (
    SELECT
        q.dev,
        q.op,
        q.bytes,
        q.queue_ns,
        q.complete_ns,
        least(q.complete_ns, r.end_ns) AS until_ns,
        q.in_scope,
        q.op = 'write' AND q.bytes = 0 AS empty,
        CAST(floor((least(q.complete_ns, r.end_ns - 1) - r.start_ns) / r.slice_ns) AS BIGINT) AS slice
    FROM block_requests q
    CROSS JOIN recording r
    WHERE q.complete_ns IS NOT NULL
        AND q.queue_ns >= r.start_ns AND q.queue_ns < r.end_ns
), ranges AS (
    SELECT
        q.dev,
        r.start_ns,
        r.slice_ns,
        generate_series(
            CAST(floor((max(r.end_ns) - max(r.elapsed_ns) - r.start_ns) / r.slice_ns) AS BIGINT),
            CAST(floor((max(r.end_ns) - 1 - r.start_ns) / r.slice_ns) AS BIGINT)
        ) AS slices
    FROM done q
    CROSS JOIN recording r
    GROUP BY q.dev, r.start_ns, r.slice_ns
), marks AS (
    SELECT dev, start_ns, slice_ns, unnest(slices) AS slice FROM ranges
), edges AS (
    SELECT dev, t_ns, step
    FROM (
        SELECT dev, queue_ns AS t_ns, 1 AS step FROM done WHERE NOT empty
        UNION ALL
        SELECT dev, until_ns, -1 FROM done WHERE NOT empty
        UNION ALL
        SELECT dev, start_ns + slice * slice_ns, 0 FROM marks
    ) AS e
    ORDER BY dev, t_ns, step
), levels AS (
    -- A device ends with none in flight, so that the sums may go on from one to the next.
    SELECT
        dev,
        t_ns,
        (lead(t_ns) OVER ()) - t_ns AS span_ns,
        sum(step) OVER (ROWS UNBOUNDED PRECEDING) AS depth
    FROM edges
), queue AS (
    SELECT
        l.dev,
        CAST(floor((l.t_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
        sum(l.span_ns * l.depth) AS area_ns,
        sum(CASE WHEN l.depth > 0 THEN l.span_ns ELSE 0 END) AS busy_ns,
        sum(CASE WHEN l.depth > 1 THEN l.span_ns ELSE 0 END) AS deep_ns
    FROM levels l
    CROSS JOIN recording r
    GROUP BY 1, 2
), counted AS (
    SELECT
        dev,
        slice,
        count(*) FILTER (WHERE op = 'read') AS reads,
        count(*) FILTER (WHERE op = 'write') AS writes,
        sum(CASE WHEN op = 'read' THEN bytes ELSE 0 END) AS read_bytes,
        sum(CASE WHEN op = 'write' THEN bytes ELSE 0 END) AS written_bytes,
        avg(CASE WHEN op IN ('read', 'write') THEN complete_ns - queue_ns END) AS await_ns,
        count(*) FILTER (WHERE op = 'flush') AS flushes,
        count(*) FILTER (WHERE NOT in_scope AND NOT empty)
            / nullif(count(in_scope) FILTER (WHERE NOT empty), 0) AS others_share
    FROM done
    GROUP BY dev, slice
), from_requests AS (
    SELECT
        m.dev,
        m.slice,
        -- The last slice ends with the recording.
        least(m.slice_ns, greatest(r.end_ns - (m.start_ns + m.slice * m.slice_ns), 1)) AS span_ns,
        coalesce(c.reads, 0) AS reads,
        coalesce(c.writes, 0) AS writes,
        coalesce(c.read_bytes, 0) AS read_bytes,
        coalesce(c.written_bytes, 0) AS written_bytes,
        coalesce(q.area_ns, 0) AS area_ns,
        c.await_ns,
        coalesce(q.busy_ns, 0) AS busy_ns,
        coalesce(q.deep_ns, 0) AS deep_ns,
        coalesce(c.flushes, 0) AS flushes,
        c.others_share
    FROM marks m
    CROSS JOIN recording r
    LEFT JOIN counted c ON c.dev = m.dev AND c.slice = m.slice
    LEFT JOIN queue q ON q.dev = m.dev AND q.slice = m.slice
), from_samples AS (
    SELECT
        s.dev,
        CAST(floor((s.ts_ns - r.start_ns) / r.slice_ns) AS BIGINT) AS slice,
        CAST(sum(s.dur_ns) AS BIGINT) AS span_ns,
        CAST(sum(s.reads) AS BIGINT) AS reads,
        CAST(sum(s.writes) AS BIGINT) AS writes,
        sum(s.read_bytes) AS read_bytes,
        sum(s.written_bytes) AS written_bytes,
        sum(s.queue_ns) AS area_ns,
        sum(s.read_ns + s.write_ns) / nullif(sum(s.reads + s.writes), 0) AS await_ns,
        sum(s.busy_ns) AS busy_ns,
        CAST(NULL AS BIGINT) AS deep_ns,
        CAST(sum(s.flushes) AS BIGINT) AS flushes,
        CAST(NULL AS DOUBLE) AS others_share
    FROM disk_steps s
    CROSS JOIN recording r
    WHERE s.dev NOT IN (SELECT dev FROM done)
    GROUP BY 1, 2
)
SELECT * FROM from_requests
UNION ALL
SELECT * FROM from_samples
