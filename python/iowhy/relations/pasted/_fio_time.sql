-- title: fio's own time of one class: what its jobs' calls take of their run, the CPU's part taken off
-- uses: measurements
-- filtered as: nothing
-- column class: key of the class, text
-- column syscall: call, NULL outside any, text
-- column total_ns: time of all its jobs, ns
WITH jobs AS (
    SELECT
        greatest(coalesce(avg(CASE WHEN metric = 'jobs' THEN value END), 1), 1) AS jobs,
        greatest(
            coalesce(avg(CASE WHEN metric = 'read_runtime_ns' THEN value END), 0),
            coalesce(avg(CASE WHEN metric = 'write_runtime_ns' THEN value END), 0)
        ) AS one_run_ns,
        avg(CASE WHEN metric = 'read_count' THEN value END) AS read_count,
        coalesce(avg(CASE WHEN metric = 'read_iops' THEN value END), 0) AS read_iops,
        coalesce(avg(CASE WHEN metric = 'read_lat_mean_ns' THEN value END), 0) AS read_ns,
        avg(CASE WHEN metric = 'write_count' THEN value END) AS write_count,
        coalesce(avg(CASE WHEN metric = 'write_iops' THEN value END), 0) AS write_iops,
        coalesce(avg(CASE WHEN metric = 'write_lat_mean_ns' THEN value END), 0) AS write_ns,
        coalesce(avg(CASE WHEN metric = 'sync_count' THEN value END), 0) AS sync_count,
        coalesce(avg(CASE WHEN metric = 'sync_lat_mean_ns' THEN value END), 0) AS sync_ns,
        coalesce(avg(CASE WHEN metric = 'cpu_user_share' THEN value END), 0) AS user_share,
        coalesce(avg(CASE WHEN metric = 'cpu_kernel_share' THEN value END), 0) AS kernel_share
    FROM measurements
    WHERE lower(tool) = 'fio'
    GROUP BY subject
), times AS (
    SELECT
        one_run_ns * jobs AS run_ns,
        read_ns * coalesce(read_count, read_iops * one_run_ns / 1e9) AS reading_ns,
        write_ns * coalesce(write_count, write_iops * one_run_ns / 1e9) AS writing_ns,
        sync_ns * sync_count AS syncing_ns,
        user_share * one_run_ns * jobs AS user_ns,
        kernel_share * one_run_ns * jobs AS kernel_ns
    FROM jobs
), fitted AS (
    SELECT
        *,
        reading_ns + writing_ns + syncing_ns AS calls_ns,
        -- Several requests under way at once (iodepth) take more than the run together.
        greatest(least(reading_ns + writing_ns + syncing_ns, run_ns - user_ns) - kernel_ns, 0) AS waiting_ns
    FROM times
    -- Three years: what is longer is a text that is broken, and would cost all that is next to it.
    WHERE run_ns > 0 AND run_ns < 1e17 AND user_ns < 1e17 AND kernel_ns < 1e17
        AND reading_ns + writing_ns + syncing_ns > 0
), parts AS (
    SELECT 'user' AS class, CAST(NULL AS VARCHAR) AS syscall, user_ns AS ns FROM fitted
    UNION ALL SELECT 'kernel', NULL, kernel_ns FROM fitted
    UNION ALL SELECT 'read', 'read', waiting_ns * reading_ns / calls_ns FROM fitted
    UNION ALL SELECT 'write', 'write', waiting_ns * writing_ns / calls_ns FROM fitted
    UNION ALL SELECT 'sync', 'fsync', waiting_ns * syncing_ns / calls_ns FROM fitted
    UNION ALL SELECT 'idle', NULL, greatest(run_ns - user_ns - kernel_ns - waiting_ns, 0) FROM fitted
)
SELECT class, syscall, CAST(round(sum(ns)) AS BIGINT) AS total_ns FROM parts GROUP BY class, syscall
