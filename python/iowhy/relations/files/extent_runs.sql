-- title: An extent of a file, and the run on disk that it is part of
-- uses: extents
-- filtered as: extents
-- kept: table
-- As filefrag: an extent continues the one before it when it follows on disk at once, or at the
-- distance that the hole between them has in the file.
-- column phase: before or after the command, text
-- column dev: filesystem, id
-- column ino: inode, id
-- column logical_bytes: offset in the file, bytes
-- column physical_bytes: offset on the device; NULL: no place yet, or inline, bytes
-- column bytes: length, bytes
-- column unwritten: allocated and never written, bool
-- column shared: shared with another file or snapshot, bool
-- column starts_run: it does not continue the extent before it on disk, bool
-- column run: number of the run, counted over all files, number
WITH in_order AS (
    SELECT
        phase, phase = 'before' AS early, dev, ino, logical_bytes, physical_bytes, bytes,
        list_contains(flags, 'unwritten') AS unwritten,
        list_contains(flags, 'shared') AS shared
    FROM extents
    -- Numbers alone are sorted in half of the time.
    ORDER BY early, dev, ino, logical_bytes
), steps AS (
    SELECT
        *,
        NOT coalesce(
            early = lag(early) OVER () AND dev = lag(dev) OVER () AND ino = lag(ino) OVER () AND (
                physical_bytes = lag(physical_bytes + bytes) OVER ()
                OR physical_bytes - logical_bytes = lag(physical_bytes - logical_bytes) OVER ()
            ),
            false
        ) AS starts_run
    FROM in_order
)
SELECT
    phase, dev, ino, logical_bytes, physical_bytes, bytes, unwritten, shared, starts_run,
    sum(CASE WHEN starts_run THEN 1 ELSE 0 END) OVER (ROWS UNBOUNDED PRECEDING) AS run
FROM steps
