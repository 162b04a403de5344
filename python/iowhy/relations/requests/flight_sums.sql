-- title: A device's requests while the command ran: how long it had any in flight, and how many
-- uses: block_requests, recording
-- kept: table
-- In flight is from queue to completion, of requests that were queued while the command ran, up to
-- its end; those whose completion was not seen are left out. Busy is the union of these times: of
-- each, what comes after all that began before it. The queue's mean depth while busy is the area over
-- the busy time. Devices are laid one behind the other on one line of time, so that a single pass in its order
-- does for all of them.
WITH places AS (
    SELECT dev, row_number() OVER (ORDER BY dev) AS place FROM (SELECT DISTINCT dev FROM block_requests) AS d
), flights AS (
    SELECT
        q.queue_ns - r.start_ns + p.place * (r.end_ns - r.start_ns + 1) AS begin_t,
        least(q.complete_ns, r.end_ns) - r.start_ns + p.place * (r.end_ns - r.start_ns + 1) AS until_t,
        CASE
            WHEN q.in_scope IS NULL THEN 's'
            WHEN NOT q.in_scope THEN 'o'
            WHEN q.op = 'read' THEN 'r'
            WHEN q.op = 'write' THEN 'w'
            ELSE 'c'
        END AS kind
    FROM block_requests q
    JOIN places p ON p.dev = q.dev
    CROSS JOIN recording r
    -- A write of nothing asks for a flush, which is there as its own request.
    WHERE q.complete_ns IS NOT NULL AND (q.op <> 'write' OR q.bytes > 0)
        AND q.queue_ns BETWEEN r.start_ns AND r.end_ns
), in_order AS (
    SELECT * FROM flights ORDER BY begin_t, until_t
), reached AS (
    SELECT
        *,
        max(until_t) OVER upto AS all_t,
        max(CASE WHEN kind IN ('r', 'w', 'c') THEN until_t END) OVER upto AS command_t,
        max(CASE WHEN kind = 'r' THEN until_t END) OVER upto AS read_t,
        max(CASE WHEN kind = 'w' THEN until_t END) OVER upto AS write_t,
        max(CASE WHEN kind = 'o' THEN until_t END) OVER upto AS other_t,
        max(CASE WHEN kind <> 'o' THEN until_t END) OVER upto AS ours_t
    FROM in_order
    WINDOW upto AS (ROWS UNBOUNDED PRECEDING)
), ends AS (
    SELECT
        *,
        lag(all_t) OVER () AS before_t,
        lag(command_t) OVER () AS command_before_t,
        lag(read_t) OVER () AS read_before_t,
        lag(write_t) OVER () AS write_before_t,
        lag(other_t) OVER () AS other_before_t,
        lag(ours_t) OVER () AS ours_before_t
    FROM reached
), parts AS (
    SELECT
        begin_t // (SELECT end_ns - start_ns + 1 FROM recording) AS place,
        kind,
        until_t - begin_t AS flight_ns,
        greatest(until_t - greatest(begin_t, coalesce(before_t, begin_t)), 0) AS new_ns,
        greatest(until_t - greatest(begin_t, coalesce(command_before_t, begin_t)), 0) AS new_command_ns,
        greatest(until_t - greatest(begin_t, coalesce(read_before_t, begin_t)), 0) AS new_read_ns,
        greatest(until_t - greatest(begin_t, coalesce(write_before_t, begin_t)), 0) AS new_write_ns,
        greatest(until_t - greatest(begin_t, coalesce(other_before_t, begin_t)), 0) AS new_other_ns,
        greatest(until_t - greatest(begin_t, coalesce(ours_before_t, begin_t)), 0) AS new_ours_ns
    FROM ends
), summed AS (
    SELECT
        place,
        sum(flight_ns) AS area_ns,
        sum(new_ns) AS busy_ns,
        sum(CASE WHEN kind IN ('r', 'w', 'c') THEN flight_ns ELSE 0 END) AS command_area_ns,
        sum(CASE WHEN kind IN ('r', 'w', 'c') THEN new_command_ns ELSE 0 END) AS command_busy_ns,
        sum(CASE WHEN kind = 'r' THEN flight_ns ELSE 0 END) AS command_read_area_ns,
        sum(CASE WHEN kind = 'r' THEN new_read_ns ELSE 0 END) AS command_read_busy_ns,
        sum(CASE WHEN kind = 'w' THEN flight_ns ELSE 0 END) AS command_write_area_ns,
        sum(CASE WHEN kind = 'w' THEN new_write_ns ELSE 0 END) AS command_write_busy_ns,
        sum(CASE WHEN kind = 'o' THEN flight_ns ELSE 0 END) AS others_area_ns,
        sum(CASE WHEN kind = 'o' THEN new_other_ns ELSE 0 END) AS others_busy_ns,
        sum(CASE WHEN kind <> 'o' THEN new_ours_ns ELSE 0 END) AS ours_busy_ns
    FROM parts
    GROUP BY place
)
SELECT
    p.dev,
    s.area_ns,
    s.busy_ns,
    s.command_area_ns,
    s.command_busy_ns,
    s.command_read_area_ns,
    s.command_read_busy_ns,
    s.command_write_area_ns,
    s.command_write_busy_ns,
    s.others_area_ns,
    s.others_busy_ns,
    s.ours_busy_ns
FROM summed s
JOIN places p ON p.place = s.place
