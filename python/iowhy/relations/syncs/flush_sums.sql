-- title: The flushes of one device, of files of one filesystem
-- uses: device_flushes
-- By the rows it is known of each whose it is (device_flushes): there in_scope says so, and nothing is left to be decided.
SELECT
    dev,
    owner_dev,
    of_command AS in_scope,
    false AS asked,
    of_command AS waited,
    CAST(NULL AS BIGINT[]) AS waited_for,
    count(*) AS flushes,
    sum(complete_ns - queue_ns) AS time_ns
FROM device_flushes
GROUP BY dev, owner_dev, of_command
