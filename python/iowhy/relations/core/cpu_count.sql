-- title: One row: how many CPUs the machine has
-- uses: cpu_samples, recording
-- filtered as: nothing
-- column cpus: CPUs, by the manifest, else those with readings; NULL where neither says, count
SELECT
    coalesce(
        r.cpus, nullif((SELECT count(DISTINCT cpu) FROM cpu_samples WHERE cpu >= 0), 0)
    ) AS cpus
FROM recording r
