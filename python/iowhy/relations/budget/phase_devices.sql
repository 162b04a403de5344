-- title: What one device did in one phase, by its counters
-- uses: disk_steps, phases
-- Spread evenly from one reading to the next; whoever asked.
-- column phase: number of the phase, number
-- column dev: block device, id
-- column requests: reads and writes completed, number
-- column bytes: read and written, number
-- column busy_ns: with a request in flight, ns
-- column queue_ns: time in flight, summed, ns
-- column took_ns: mean time of a read or write; NULL if not reported, ns
-- column silent_ns: with requests in flight of which none completed, ns
SELECT
    s.phase,
    s.dev,
    sum((s.reads + s.writes) * s.part) AS requests,
    sum((s.read_bytes + s.written_bytes) * s.part) AS bytes,
    sum(s.busy_ns * s.part) AS busy_ns,
    sum(s.queue_ns * s.part) AS queue_ns,
    sum((s.read_ns + s.write_ns) * s.part) / nullif(sum((s.reads + s.writes) * s.part), 0) AS took_ns,
    sum(CASE WHEN s.silent THEN s.dur_ns * s.part ELSE 0 END) AS silent_ns
FROM (
    SELECT
        d.*, q.phase,
        (least(d.ts_ns, q.end_ns) - greatest(d.before_ns, q.begin_ns)) / d.dur_ns AS part
    FROM disk_steps d
    JOIN phases q ON q.begin_ns < d.ts_ns AND d.before_ns < q.end_ns
) AS s
GROUP BY s.phase, s.dev
