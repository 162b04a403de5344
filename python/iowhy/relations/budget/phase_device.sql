-- title: One row: the device whose load phases are cut by; no row if none did anything
-- uses: disk_steps, waited_devices
-- The one that was waited for most, else the one with most in flight.
-- column dev: block device, id
WITH busiest AS (
    SELECT dev, waited_ns AS most, 0 AS place FROM waited_devices WHERE dev IN (SELECT dev FROM disk_steps)
    UNION ALL
    SELECT dev, sum(queue_ns), 1 FROM disk_steps GROUP BY dev
)
SELECT dev FROM busiest WHERE most > 0 ORDER BY place, most DESC, dev LIMIT 1
