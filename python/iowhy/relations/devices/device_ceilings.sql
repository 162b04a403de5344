-- title: The rate at which a device's work stands still while requests queue, by its counters
-- uses: devices, device_layers, disk_steps
-- filtered as: nothing
-- Time is cut into slices, of a hundred requests each at least, of a twentieth of the time at least, and of a second at most. Pressed are slices in which the device is busy and requests
-- queue. The ceiling is the rate that most of them have, within 3 %. Flushes move nothing and are left out.
-- Of several devices that are not on each other there is a row for their sum, whose dev is NULL.
-- column dev: block device; NULL: all together, id
-- column counts: what stands still: requests or bytes, text
-- column per_s: the ceiling: requests or bytes a second, number
-- column slices: slices at the ceiling, count
-- column at_ns: their length, ns
-- column busy_ns: with a request in flight, whenever, ns
-- column spread: standard deviation of the rate in pressed slices within 15 % of the ceiling, of the ceiling, share
-- column each_slice: requests in a slice at the ceiling, mean, number
-- column below_ns: pressed slices with less than the ceiling, ns
-- column requests_per_s: reads and writes at the ceiling, 1/s
-- column bytes_per_s: moved at the ceiling, bytes/s
-- column read_share: of the requests at the ceiling, reads, share
-- column flush_share: of the time in flight at the ceiling, that of flushes, share
-- column wait_ns: mean request at the ceiling, ns
-- column depth: requests in flight at the ceiling, mean, number
-- column sizes: largest mean size of a request in a slice at the ceiling over the smallest, number
-- column above_ns: slices with at least 1.25 times the ceiling, of requests of that size and direction, ns
-- column again_ns: slices above it, of any requests, after the ceiling was reached and without rest since, ns
-- column above_per_s: rate in these, median, number
-- column above_bytes: moved in these, bytes
-- column above_last_ns: end of the last of these before the ceiling was first reached; NULL without one, ns
-- column first_ns: begin of the first slice at the ceiling, ns
-- column quiet_requests: requests of that size and direction in slices in which hardly any queue, count
-- column quiet_wait_ns: mean request in these, ns
-- column parts_vary: of the sum: the largest standard deviation of a device's rate, of the ceiling; NULL of one device, share
-- column least_part: of the sum: what the device that does least of it does at the ceiling; NULL of one device, share
WITH steps AS (
    SELECT
        dev,
        before_ns,
        ts_ns,
        dur_ns,
        CAST(reads AS DOUBLE) AS reads,
        CAST(reads + writes AS DOUBLE) AS requests,
        CAST(coalesce(read_bytes, 0) + coalesce(written_bytes, 0) AS DOUBLE) AS bytes,
        CAST(coalesce(read_ns + write_ns, queue_ns, 0) AS DOUBLE) AS area_ns,
        CAST(coalesce(flush_ns, 0) AS DOUBLE) AS flush_ns,
        CAST(least(coalesce(busy_ns, 0), dur_ns) AS DOUBLE) AS busy_ns
    FROM disk_steps
    WHERE reads IS NOT NULL AND writes IS NOT NULL
), topmost AS (
    -- What is on another device is seen there again. One that hardly anything waits for does not count.
    SELECT dev
    FROM (
        SELECT dev, sum(area_ns) AS area_ns, sum(sum(area_ns)) OVER () AS whole_ns
        FROM steps
        WHERE dev NOT IN (SELECT below_dev FROM devices WHERE below_dev IS NOT NULL)
            AND dev NOT IN (SELECT below_dev FROM device_layers)
        GROUP BY dev
    ) AS s
    WHERE area_ns > 0.15 * whole_ns
), counted AS (
    SELECT dev, dev AS part, before_ns, ts_ns, dur_ns, reads, requests, bytes, area_ns, flush_ns, busy_ns FROM steps
    UNION ALL
    SELECT
        CAST(NULL AS BIGINT),
        NULL,
        min(before_ns),
        ts_ns,
        max(dur_ns),
        sum(reads),
        sum(requests),
        sum(bytes),
        sum(area_ns),
        sum(flush_ns),
        least(max(dur_ns), sum(busy_ns))
    FROM steps
    WHERE dev IN (SELECT dev FROM topmost) AND (SELECT count(*) FROM topmost) > 1
    GROUP BY ts_ns
), grains AS (
    -- How many steps make a slice.
    SELECT
        dev,
        CAST(greatest(
            1,
            ceil(least(1e9, greatest(sum(busy_ns) / 20, 100 * sum(busy_ns) / nullif(sum(requests), 0))) / avg(dur_ns) - 0.2)
        ) AS BIGINT) AS steps
    FROM counted
    WHERE busy_ns > 0.5 * dur_ns
    GROUP BY dev
), placed AS (
    SELECT b.*, (row_number() OVER (PARTITION BY b.dev ORDER BY b.ts_ns) - 1) // g.steps AS slice
    FROM counted b
    JOIN grains g ON g.dev IS NOT DISTINCT FROM b.dev
), slices AS (
    SELECT
        dev,
        slice,
        min(before_ns) AS before_ns,
        max(ts_ns) AS ts_ns,
        sum(dur_ns) AS dur_ns,
        sum(reads) AS reads,
        sum(requests) AS requests,
        sum(bytes) AS bytes,
        sum(area_ns) AS area_ns,
        sum(flush_ns) AS flush_ns,
        sum(busy_ns) AS busy_ns,
        sum(busy_ns) >= 0.9 * sum(dur_ns) AND sum(area_ns) >= 1.5 * sum(dur_ns) AND sum(requests) > 0 AS pressed
    FROM placed
    GROUP BY dev, slice
), rates AS (
    SELECT *, 'requests' AS counts, requests * 1e9 / dur_ns AS rate FROM slices
    UNION ALL
    SELECT *, 'bytes', bytes * 1e9 / dur_ns FROM slices
), alike AS (
    SELECT
        *,
        sum(dur_ns) OVER (
            PARTITION BY dev, counts ORDER BY ln(rate) RANGE BETWEEN 0.03 PRECEDING AND 0.03 FOLLOWING
        ) AS alike_ns
    FROM rates
    WHERE pressed AND rate > 0
), modes AS (
    SELECT dev, counts, rate
    FROM (
        SELECT
            dev,
            counts,
            rate,
            row_number() OVER (PARTITION BY dev, counts ORDER BY alike_ns DESC, rate) AS place
        FROM alike
    ) AS m
    WHERE place = 1
), at_it AS (
    SELECT
        a.dev,
        a.counts,
        sum(a.rate * a.dur_ns) / sum(a.dur_ns) AS per_s,
        count(*) AS slices,
        sum(a.dur_ns) AS at_ns,
        sum(a.requests) / count(*) AS each_slice,
        sum(a.requests) * 1e9 / sum(a.dur_ns) AS requests_per_s,
        sum(a.bytes) * 1e9 / sum(a.dur_ns) AS bytes_per_s,
        sum(a.reads) / sum(a.requests) AS read_share,
        sum(a.flush_ns) / sum(a.area_ns + a.flush_ns) AS flush_share,
        sum(a.area_ns) / sum(a.requests) AS wait_ns,
        sum(a.area_ns) / sum(a.dur_ns) AS depth,
        max(a.bytes / a.requests) / nullif(min(a.bytes / a.requests), 0) AS sizes,
        min(a.before_ns) AS first_ns
    FROM alike a
    JOIN modes m ON m.dev IS NOT DISTINCT FROM a.dev AND m.counts = a.counts
    WHERE abs(ln(a.rate / m.rate)) <= 0.03
    GROUP BY a.dev, a.counts
), others AS (
    SELECT
        c.dev,
        c.counts,
        sum(r.busy_ns) AS busy_ns,
        stddev_pop(CASE WHEN r.pressed AND abs(ln(r.rate / c.per_s)) <= 0.15 THEN r.rate END) / max(c.per_s) AS spread,
        sum(CASE WHEN r.pressed AND r.rate < c.per_s * 0.97 THEN r.dur_ns ELSE 0 END) AS below_ns,
        sum(CASE WHEN r.rate >= c.per_s * 1.25 AND alike THEN r.dur_ns ELSE 0 END) AS above_ns,
        sum(CASE WHEN r.rate >= c.per_s * 1.25 AND r.no_rest AND r.before_ns > c.first_ns THEN r.dur_ns ELSE 0 END) AS again_ns,
        quantile_cont(CASE WHEN r.rate >= c.per_s * 1.25 AND alike THEN r.rate END, 0.5) AS above_per_s,
        sum(CASE WHEN r.rate >= c.per_s * 1.25 AND alike THEN r.bytes ELSE 0 END) AS above_bytes,
        max(CASE WHEN r.rate >= c.per_s * 1.25 AND alike AND r.before_ns <= c.first_ns THEN r.ts_ns END) AS above_last_ns,
        sum(CASE WHEN r.quiet AND r.rate < c.per_s * 0.8 AND alike THEN r.requests ELSE 0 END) AS quiet_requests,
        sum(CASE WHEN r.quiet AND r.rate < c.per_s * 0.8 AND alike THEN r.area_ns END)
            / nullif(sum(CASE WHEN r.quiet AND r.rate < c.per_s * 0.8 AND alike THEN r.requests END), 0) AS quiet_wait_ns
    FROM at_it c
    JOIN (
        SELECT
            x.*,
            x.area_ns < 1.5 * greatest(x.busy_ns, 1) AS quiet,
            abs(ln(x.bytes / x.requests * x.ceiling_requests_per_s / x.ceiling_bytes_per_s)) <= 0.4
                AND abs(x.reads / x.requests - x.ceiling_read_share) <= 0.25 AS alike
        FROM (
            SELECT
                s.*,
                a.requests_per_s AS ceiling_requests_per_s,
                a.bytes_per_s AS ceiling_bytes_per_s,
                a.read_share AS ceiling_read_share,
                -- In the last slice before it that is not above the ceiling, requests queue.
                max(CASE WHEN s.rate < a.per_s * 1.25 THEN 2 * s.slice + CASE WHEN s.pressed THEN 1 ELSE 0 END END) OVER (
                    PARTITION BY s.dev, s.counts ORDER BY s.slice ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) % 2 = 1 AS no_rest
            FROM rates s
            JOIN at_it a ON a.dev IS NOT DISTINCT FROM s.dev AND a.counts = s.counts
        ) AS x
        WHERE x.requests > 0 AND x.bytes > 0
    ) AS r ON r.dev IS NOT DISTINCT FROM c.dev AND r.counts = c.counts
    GROUP BY c.dev, c.counts
), parts AS (
    SELECT counts, max(deviation) AS deviation
    FROM (
        SELECT 'requests' AS counts, s.part, stddev_pop(s.requests * 1e9 / s.dur_ns) AS deviation
        FROM counted s
        WHERE s.part IN (SELECT dev FROM topmost) AND s.busy_ns > 0
        GROUP BY s.part
        UNION ALL
        SELECT 'bytes', s.part, stddev_pop(s.bytes * 1e9 / s.dur_ns)
        FROM counted s
        WHERE s.part IN (SELECT dev FROM topmost) AND s.busy_ns > 0
        GROUP BY s.part
    ) AS p
    GROUP BY counts
), shares AS (
    -- While all of them together do no more than that.
    SELECT counts, min(part) AS least_part
    FROM (
        SELECT m.counts, s.part, sum(s.requests) / sum(sum(s.requests)) OVER (PARTITION BY m.counts) AS part
        FROM counted s
        JOIN alike a ON a.dev IS NULL AND s.before_ns >= a.before_ns AND s.ts_ns <= a.ts_ns
        JOIN modes m ON m.dev IS NULL AND m.counts = a.counts
        WHERE s.part IN (SELECT dev FROM topmost) AND abs(ln(a.rate / m.rate)) <= 0.03
        GROUP BY m.counts, s.part
    ) AS p
    GROUP BY counts
)
SELECT
    c.dev,
    c.counts,
    c.per_s,
    c.slices,
    CAST(c.at_ns AS BIGINT) AS at_ns,
    CAST(o.busy_ns AS BIGINT) AS busy_ns,
    o.spread,
    c.each_slice,
    CAST(o.below_ns AS BIGINT) AS below_ns,
    c.requests_per_s,
    c.bytes_per_s,
    c.read_share,
    c.flush_share,
    c.wait_ns,
    c.depth,
    c.sizes,
    CAST(o.above_ns AS BIGINT) AS above_ns,
    CAST(o.again_ns AS BIGINT) AS again_ns,
    o.above_per_s,
    o.above_bytes,
    o.above_last_ns,
    c.first_ns,
    CAST(o.quiet_requests AS BIGINT) AS quiet_requests,
    o.quiet_wait_ns,
    CASE WHEN c.dev IS NULL THEN p.deviation / c.per_s END AS parts_vary,
    CASE WHEN c.dev IS NULL THEN h.least_part END AS least_part
FROM at_it c
JOIN others o ON o.dev IS NOT DISTINCT FROM c.dev AND o.counts = c.counts
JOIN parts p ON p.counts = c.counts
LEFT JOIN shares h ON h.counts = c.counts
