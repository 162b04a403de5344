-- title: The sums of the flushes of one device
-- uses: counted_devices, flush_sums, flush_targets, recording, written_devices
-- device_flushes says what a flush is, and whose.
-- column dev: block device, id
-- column of_command: the command's, bool
-- column counted: false for what is seen again on a device below, bool
-- column flushes: flushes, count
-- column time_ns: from queue to completion, summed; NULL when none was seen to complete, ns
WITH named AS (
    SELECT DISTINCT dev, waited_for, unnest(waited_for) AS filesystem FROM flush_sums
), reached AS (
    SELECT DISTINCT n.dev, n.waited_for
    FROM named n
    LEFT JOIN flush_targets t ON t.dev = n.filesystem
    WHERE t.dev IS NULL OR t.disk_dev = n.dev
)
SELECT
    f.dev,
    coalesce(
        f.in_scope,
        NOT (e.has_calls OR e.has_waits) OR (
            f.dev IN (SELECT dev FROM written_devices)
            AND f.waited
            AND (coalesce(array_length(f.waited_for), 0) = 0 OR r.dev IS NOT NULL)
        ),
        false
    ) AS of_command,
    c.counted,
    sum(f.flushes) AS flushes,
    sum(f.time_ns) AS time_ns
FROM flush_sums f
CROSS JOIN recording e
JOIN counted_devices c ON c.dev = f.dev AND c.owner_dev IS NOT DISTINCT FROM f.owner_dev
LEFT JOIN reached r ON r.dev = f.dev AND r.waited_for = f.waited_for
WHERE NOT f.asked OR f.dev NOT IN (SELECT dev FROM flush_sums WHERE NOT asked)
GROUP BY 1, 2, 3
