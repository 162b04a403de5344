-- title: One row: how busy devices are, and which way their traffic goes, by their own counters
-- uses: device_rates, machine_levels, measurements
-- filtered as: nothing
-- From medians over the intervals between readings, of the most loaded device: of bytes, else of requests; else
-- of the bytes that vmstat counts; else of the rates of the busiest device of which a tool prints no more (sar -d).
-- column busy_share: of the time, the busiest device's; NULL where no text says, share
-- column read_share: of what is moved, reads; NULL where no text has a direction, share
WITH top AS (
    SELECT
        max(busy_share) AS busy_share,
        max(CASE WHEN place = 1 THEN read_bytes_per_s END) AS read_bytes,
        max(CASE WHEN place = 1 THEN write_bytes_per_s END) AS written_bytes,
        max(CASE WHEN place = 1 THEN reads_per_s END) AS reads,
        max(CASE WHEN place = 1 THEN writes_per_s END) AS writes
    FROM device_rates
), printed AS (
    SELECT
        avg(CASE WHEN metric = 'busy_share' THEN value END) AS busy_share,
        avg(CASE WHEN metric = 'read_bytes_per_s' THEN value END) AS read_bytes,
        avg(CASE WHEN metric = 'written_bytes_per_s' THEN value END) AS written_bytes
    FROM measurements
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
        m.page_in_bytes / nullif(m.page_in_bytes + m.page_out_bytes, 0),
        b.read_bytes / nullif(b.read_bytes + b.written_bytes, 0)
    ) AS read_share
FROM top t
CROSS JOIN machine_levels m
CROSS JOIN busiest b
