-- title: How one file is on its device, before or after the command, and how it was allocated
-- uses: allocations, extent_runs, extents, filesystems, recording
-- Files without extents are there for their allocations. The block size is the filesystem's; the page size where
-- that is not known. How long the single runs are is in run_percentiles.
-- column phase: before or after the command, text
-- column dev: filesystem, id
-- column ino: inode, id
-- column latest: of this file's extents the last that were read: after the command, else before it, bool
-- column extents: contiguous runs, as filefrag counts them (a hole does not break a run), count
-- column mean_extent_bytes: of the runs that have a place on disk, their mean length, bytes
-- column sequentiality: neighbouring blocks of the file that are neighbours on disk, share
-- column bytes: bytes with a place on disk, bytes
-- column mapped_extents: extents as the filesystem reports them, count
-- column unplaced_bytes: bytes without a place (not yet allocated, or kept in the inode), bytes
-- column unwritten_bytes: allocated and never written, bytes
-- column shared_bytes: shared with another file or snapshot, bytes
-- column allocations: allocations during the recording, whatever the phase, count
-- column allocated_bytes: their bytes, bytes
-- column allocating_threads: threads that made them, count
-- column interleaved_share: allocations that followed another thread's in the same file, share
WITH sizes AS (
    SELECT dev, max(block_bytes) AS block_bytes FROM filesystems GROUP BY dev
), placed AS (
    SELECT
        phase,
        dev,
        ino,
        sum(CASE WHEN starts_run THEN 1 ELSE 0 END) AS runs,
        sum(CASE WHEN starts_run AND physical_bytes IS NOT NULL THEN 1 ELSE 0 END) AS placed_runs,
        sum(1) AS mapped_extents,
        sum(CASE WHEN physical_bytes IS NOT NULL THEN bytes ELSE 0 END) AS bytes,
        sum(CASE WHEN physical_bytes IS NULL THEN bytes ELSE 0 END) AS unplaced_bytes,
        sum(CASE WHEN unwritten THEN bytes ELSE 0 END) AS unwritten_bytes,
        sum(CASE WHEN shared THEN bytes ELSE 0 END) AS shared_bytes
    FROM extent_runs
    GROUP BY phase, dev, ino
), turns AS (
    SELECT
        dev,
        ino,
        tid,
        blocks,
        lag(tid) OVER (PARTITION BY dev, ino ORDER BY ts_ns, logical_block) AS previous_tid
    FROM allocations
), allocated AS (
    SELECT
        dev,
        ino,
        count(*) AS allocations,
        sum(blocks) AS blocks,
        count(DISTINCT tid) AS allocating_threads,
        count(*) FILTER (WHERE tid <> previous_tid) / nullif(count(previous_tid), 0)
            AS interleaved_share
    FROM turns
    GROUP BY dev, ino
), read_after AS (
    SELECT dev, ino FROM placed WHERE phase = 'after'
), every_file AS (
    -- Rows, not their keys: to find them again takes longer than to group them.
    SELECT * FROM placed
    UNION ALL
    SELECT 'after', a.dev, a.ino, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM allocated a
    LEFT JOIN read_after l ON l.dev = a.dev AND l.ino = a.ino
    WHERE l.ino IS NULL
)
SELECT
    p.phase,
    p.dev,
    p.ino,
    p.runs IS NOT NULL AND (p.phase = 'after' OR l.ino IS NULL) AS latest,
    CAST(p.runs AS BIGINT) AS extents,
    p.bytes / nullif(p.placed_runs, 0) AS mean_extent_bytes,
    -- Of the blocks - 1 pairs of neighbours, each run but the first breaks one.
    CASE
        WHEN p.bytes IS NULL OR p.bytes <= 0 THEN NULL
        WHEN p.bytes <= coalesce(s.block_bytes, r.page_bytes) THEN 1.0
        ELSE greatest(0.0, (p.bytes / coalesce(s.block_bytes, r.page_bytes) - p.placed_runs)
            / nullif(p.bytes / coalesce(s.block_bytes, r.page_bytes) - 1, 0))
    END AS sequentiality,
    p.bytes,
    p.mapped_extents,
    p.unplaced_bytes,
    p.unwritten_bytes,
    p.shared_bytes,
    a.allocations,
    a.blocks * s.block_bytes AS allocated_bytes,
    a.allocating_threads,
    a.interleaved_share
FROM every_file p
CROSS JOIN recording r
LEFT JOIN read_after l ON l.dev = p.dev AND l.ino = p.ino
LEFT JOIN allocated a ON a.dev = p.dev AND a.ino = p.ino
LEFT JOIN sizes s ON s.dev = p.dev
