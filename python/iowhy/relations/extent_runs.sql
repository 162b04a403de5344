-- title: An extent of a file, and the run on disk that it is part of
-- filtered as: extents
-- kept: table
-- As filefrag: an extent continues the one before it when it follows on disk at once, or at the
-- distance that the hole between them has in the file. The other columns are those of extents.
-- column starts_run: it does not continue the extent before it on disk, bool
-- column run: number of the run in the file, from 1, number
SELECT
    *,
    sum(CASE WHEN starts_run THEN 1 ELSE 0 END) OVER (
        PARTITION BY phase, dev, ino ORDER BY logical_bytes ROWS UNBOUNDED PRECEDING
    ) AS run
FROM (
    SELECT
        *,
        NOT coalesce(
            physical_bytes = lag(physical_bytes + bytes) OVER (
                PARTITION BY phase, dev, ino ORDER BY logical_bytes
            ) OR physical_bytes - logical_bytes = lag(physical_bytes - logical_bytes) OVER (
                PARTITION BY phase, dev, ino ORDER BY logical_bytes
            ),
            false
        ) AS starts_run
    FROM main.extents
) AS e
