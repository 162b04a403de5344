-- title: A device's requests while the command ran: how long it had any in flight, and how many
-- kept: table
-- In flight is from queue to completion, of requests that were queued while the command ran, up to
-- its end; those whose completion was not seen are left out. Busy is the union of these times: of
-- each, what lies after all that began before it. The queue's mean depth while busy is the area over
-- the busy time.
-- column dev: block device, id
-- column area_ns: time in flight summed over requests, ns
-- column busy_ns: with at least one in flight, ns
-- column command_area_ns: area of requests that are the command's, ns
-- column command_busy_ns: with one of the command's in flight, ns
-- column command_read_area_ns: area of the command's reads, ns
-- column command_read_busy_ns: with a read of the command's in flight, ns
-- column command_write_area_ns: area of the command's writes, ns
-- column command_write_busy_ns: with a write of the command's in flight, ns
-- column others_area_ns: area of other processes' requests, ns
-- column others_busy_ns: with another process's request in flight, ns
-- column ours_busy_ns: with one in flight that is not another process's, ns
WITH flights AS (
    SELECT
        q.dev,
        q.queue_ns,
        least(q.complete_ns, r.end_ns) AS until_ns,
        coalesce(q.in_scope, false) AS command,
        coalesce(NOT q.in_scope, false) AS other,
        q.op
    FROM block_requests q
    CROSS JOIN recording r
    -- A write of nothing asks for a flush, which is there as a request of its own.
    WHERE q.complete_ns IS NOT NULL AND (q.op <> 'write' OR q.bytes > 0)
        AND q.queue_ns BETWEEN r.start_ns AND r.end_ns
), ends AS (
    SELECT
        *,
        max(until_ns) OVER earlier AS until_before_ns,
        max(CASE WHEN command THEN until_ns END) OVER earlier AS command_ns,
        max(CASE WHEN command AND op = 'read' THEN until_ns END) OVER earlier AS read_ns,
        max(CASE WHEN command AND op = 'write' THEN until_ns END) OVER earlier AS write_ns,
        max(CASE WHEN other THEN until_ns END) OVER earlier AS other_ns,
        max(CASE WHEN NOT other THEN until_ns END) OVER earlier AS ours_ns
    FROM flights
    WINDOW earlier AS (
        PARTITION BY dev ORDER BY queue_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
), parts AS (
    SELECT
        dev,
        op,
        command,
        other,
        until_ns - queue_ns AS flight_ns,
        greatest(until_ns - greatest(queue_ns, coalesce(until_before_ns, queue_ns)), 0) AS new_ns,
        greatest(until_ns - greatest(queue_ns, coalesce(command_ns, queue_ns)), 0) AS new_command_ns,
        greatest(until_ns - greatest(queue_ns, coalesce(read_ns, queue_ns)), 0) AS new_read_ns,
        greatest(until_ns - greatest(queue_ns, coalesce(write_ns, queue_ns)), 0) AS new_write_ns,
        greatest(until_ns - greatest(queue_ns, coalesce(other_ns, queue_ns)), 0) AS new_other_ns,
        greatest(until_ns - greatest(queue_ns, coalesce(ours_ns, queue_ns)), 0) AS new_ours_ns
    FROM ends
)
SELECT
    dev,
    sum(flight_ns) AS area_ns,
    sum(new_ns) AS busy_ns,
    sum(CASE WHEN command THEN flight_ns ELSE 0 END) AS command_area_ns,
    sum(CASE WHEN command THEN new_command_ns ELSE 0 END) AS command_busy_ns,
    sum(CASE WHEN command AND op = 'read' THEN flight_ns ELSE 0 END) AS command_read_area_ns,
    sum(CASE WHEN command AND op = 'read' THEN new_read_ns ELSE 0 END) AS command_read_busy_ns,
    sum(CASE WHEN command AND op = 'write' THEN flight_ns ELSE 0 END) AS command_write_area_ns,
    sum(CASE WHEN command AND op = 'write' THEN new_write_ns ELSE 0 END) AS command_write_busy_ns,
    sum(CASE WHEN other THEN flight_ns ELSE 0 END) AS others_area_ns,
    sum(CASE WHEN other THEN new_other_ns ELSE 0 END) AS others_busy_ns,
    sum(CASE WHEN NOT other THEN new_ours_ns ELSE 0 END) AS ours_busy_ns
FROM parts
GROUP BY dev
