-- title: How long the runs of one file on its device are, before or after the command
-- uses: extent_runs
-- column phase: before or after the command, text
-- column dev: filesystem, id
-- column ino: inode, id
-- column median_extent_bytes: median length of a run, bytes
-- column largest_extent_bytes: longest run, bytes
WITH runs AS (
    -- No two runs have one number, so that its file need not be compared with others.
    SELECT max(phase) AS phase, max(dev) AS dev, max(ino) AS ino, sum(bytes) AS bytes FROM extent_runs GROUP BY run
)
SELECT
    phase,
    dev,
    ino,
    quantile_cont(bytes, 0.5) AS median_extent_bytes,
    max(bytes) AS largest_extent_bytes
FROM runs
GROUP BY phase, dev, ino
