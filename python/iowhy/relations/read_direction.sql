-- title: One row: how busy devices are, and which way their traffic goes, by their own counters
-- filtered as: nothing
-- From medians over the intervals between readings, of the most loaded device: of bytes, else of requests; else
-- of the bytes that vmstat counts; else of the rates of the busiest device of which a tool prints no more (sar -d).
-- column busy_share: of the time, the busiest device's; NULL where no text tells, share
-- column read_share: of what is moved, reads; NULL where no text has a direction, share
WITH changes AS (
    SELECT
        dev,
        ts_ns - lag(ts_ns) OVER (PARTITION BY dev ORDER BY ts_ns) AS dur_ns,
        reads - lag(reads) OVER (PARTITION BY dev ORDER BY ts_ns) AS reads,
        writes - lag(writes) OVER (PARTITION BY dev ORDER BY ts_ns) AS writes,
        read_bytes - lag(read_bytes) OVER (PARTITION BY dev ORDER BY ts_ns) AS read_bytes,
        written_bytes - lag(written_bytes) OVER (PARTITION BY dev ORDER BY ts_ns) AS written_bytes,
        coalesce(read_ns, 0) + coalesce(write_ns, 0)
            - lag(coalesce(read_ns, 0) + coalesce(write_ns, 0)) OVER (PARTITION BY dev ORDER BY ts_ns)
            AS wait_ns,
        busy_ns - lag(busy_ns) OVER (PARTITION BY dev ORDER BY ts_ns) AS busy_ns,
        queue_ns - lag(queue_ns) OVER (PARTITION BY dev ORDER BY ts_ns) AS queue_ns
    FROM main.disk_samples
), loads AS (
    SELECT
        dev,
        sum(coalesce(queue_ns, wait_ns, 0)) AS load_ns,
        sum(reads + writes) AS requests,
        quantile_cont(least(1.0, busy_ns / dur_ns), 0.5) AS busy_share,
        coalesce(quantile_cont(reads / dur_ns, 0.5), 0) AS read_rate,
        coalesce(quantile_cont(writes / dur_ns, 0.5), 0) AS write_rate,
        coalesce(quantile_cont(read_bytes / dur_ns, 0.5), 0) AS read_bytes_rate,
        coalesce(quantile_cont(written_bytes / dur_ns, 0.5), 0) AS written_bytes_rate
    FROM changes
    WHERE dur_ns > 0
    GROUP BY dev
), ranked AS (
    SELECT *, row_number() OVER (ORDER BY load_ns DESC, requests DESC, dev) AS place
    FROM loads
    WHERE requests > 0 OR busy_share > 0
), top AS (
    SELECT
        max(busy_share) AS busy_share,
        max(CASE WHEN place = 1 THEN read_bytes_rate END) AS read_bytes,
        max(CASE WHEN place = 1 THEN written_bytes_rate END) AS written_bytes,
        max(CASE WHEN place = 1 THEN read_rate END) AS reads,
        max(CASE WHEN place = 1 THEN write_rate END) AS writes
    FROM ranked
), paged AS (
    SELECT
        coalesce(max(page_in_bytes) - min(page_in_bytes), 0) AS read_bytes,
        coalesce(max(page_out_bytes) - min(page_out_bytes), 0) AS written_bytes
    FROM main.vm_samples
), printed AS (
    SELECT
        avg(CASE WHEN metric = 'busy_share' THEN value END) AS busy_share,
        avg(CASE WHEN metric = 'read_bytes_per_s' THEN value END) AS read_bytes,
        avg(CASE WHEN metric = 'written_bytes_per_s' THEN value END) AS written_bytes
    FROM main.measurements
    WHERE metric IN ('busy_share', 'read_bytes_per_s', 'written_bytes_per_s') AND ts_ns IS NOT NULL
    GROUP BY lower(tool), subject
), busiest AS (
    SELECT
        max(busy_share) AS busy_share,
        max_by(read_bytes, busy_share) AS read_bytes,
        max_by(written_bytes, busy_share) AS written_bytes
    FROM printed
    WHERE busy_share IS NOT NULL
)
SELECT
    coalesce(t.busy_share, b.busy_share) AS busy_share,
    coalesce(
        t.read_bytes / nullif(t.read_bytes + t.written_bytes, 0),
        t.reads / nullif(t.reads + t.writes, 0),
        p.read_bytes / nullif(p.read_bytes + p.written_bytes, 0),
        b.read_bytes / nullif(b.read_bytes + b.written_bytes, 0)
    ) AS read_share
FROM top t
CROSS JOIN paged p
CROSS JOIN busiest b
