-- title: Layout on disk
-- question: How contiguous is each file on disk, before and after, and who allocated it how?
-- stands in for: fileplace, filefrag
-- filters: pid file
-- column path: path when first seen, text
-- column phase: before or after the command, text
-- column extents: contiguous runs, as filefrag counts them (a hole does not break a run), count
-- column sequentiality: neighbouring blocks of the file that are neighbours on disk, share
-- column bytes: bytes with a place on disk, bytes
-- column median_extent_bytes: median length of a run, bytes
-- column largest_extent_bytes: longest run, bytes
-- column mapped_extents: extents as the filesystem reports them, count
-- column unplaced_bytes: bytes without a place (not yet allocated, or kept in the inode), bytes
-- column unwritten_bytes: allocated and never written, bytes
-- column shared_bytes: shared with another file or snapshot, bytes
-- column allocations: allocations during the recording, count
-- column allocated_bytes: their bytes, bytes
-- column allocating_threads: threads that made them, count
-- column interleaved_share: allocations that followed another thread's in the same file, share
-- column dev: device number of the filesystem, id
-- column ino: inode, id
-- The block size is the filesystem's; the page size where that is not known.
WITH sizes AS (
    SELECT dev, max(block_bytes) AS block_bytes FROM filesystems GROUP BY dev
), joined AS (
    SELECT phase, dev, ino, run, sum(bytes) AS bytes
    FROM extent_runs
    GROUP BY phase, dev, ino, run
), run_sizes AS (
    SELECT
        phase,
        dev,
        ino,
        quantile_cont(bytes, 0.5) AS median_extent_bytes,
        max(bytes) AS largest_extent_bytes
    FROM joined
    GROUP BY phase, dev, ino
), placed AS (
    SELECT
        phase,
        dev,
        ino,
        count(*) AS mapped_extents,
        count(*) FILTER (WHERE starts_run) AS extents,
        count(*) FILTER (WHERE starts_run AND physical_bytes IS NOT NULL) AS placed_runs,
        sum(CASE WHEN physical_bytes IS NOT NULL THEN bytes ELSE 0 END) AS bytes,
        sum(CASE WHEN physical_bytes IS NULL THEN bytes ELSE 0 END) AS unplaced_bytes,
        sum(CASE WHEN list_contains(flags, 'unwritten') THEN bytes ELSE 0 END) AS unwritten_bytes,
        sum(CASE WHEN list_contains(flags, 'shared') THEN bytes ELSE 0 END) AS shared_bytes
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
), keys AS (
    SELECT phase, dev, ino FROM placed
    UNION
    SELECT 'after', a.dev, a.ino
    FROM allocated a
    LEFT JOIN placed p ON p.dev = a.dev AND p.ino = a.ino AND p.phase = 'after'
    WHERE p.ino IS NULL
), named AS (
    SELECT dev, ino, max(path) AS path FROM files GROUP BY dev, ino
), listed AS (
    SELECT
        n.path,
        k.phase,
        p.extents,
        -- Of the blocks - 1 pairs of neighbours, each run but the first breaks one.
        CASE
            WHEN p.bytes IS NULL OR p.bytes <= 0 THEN NULL
            WHEN p.bytes <= coalesce(s.block_bytes, r.page_bytes) THEN 1.0
            ELSE greatest(0.0, (p.bytes / coalesce(s.block_bytes, r.page_bytes) - p.placed_runs)
                / nullif(p.bytes / coalesce(s.block_bytes, r.page_bytes) - 1, 0))
        END AS sequentiality,
        p.bytes,
        z.median_extent_bytes,
        z.largest_extent_bytes,
        p.mapped_extents,
        p.unplaced_bytes,
        p.unwritten_bytes,
        p.shared_bytes,
        CASE WHEN k.phase = 'after' THEN a.allocations END AS allocations,
        CASE WHEN k.phase = 'after' THEN a.blocks * s.block_bytes END AS allocated_bytes,
        CASE WHEN k.phase = 'after' THEN a.allocating_threads END AS allocating_threads,
        CASE WHEN k.phase = 'after' THEN a.interleaved_share END AS interleaved_share,
        k.dev,
        k.ino,
        max(coalesce(p.extents, a.allocations)) OVER (PARTITION BY k.dev, k.ino) AS most
    FROM keys k
    CROSS JOIN recording r
    LEFT JOIN placed p ON p.phase = k.phase AND p.dev = k.dev AND p.ino = k.ino
    LEFT JOIN run_sizes z ON z.phase = k.phase AND z.dev = k.dev AND z.ino = k.ino
    LEFT JOIN allocated a ON a.dev = k.dev AND a.ino = k.ino
    LEFT JOIN sizes s ON s.dev = k.dev
    LEFT JOIN named n ON n.dev = k.dev AND n.ino = k.ino
)
SELECT
    path,
    phase,
    extents,
    sequentiality,
    bytes,
    median_extent_bytes,
    largest_extent_bytes,
    mapped_extents,
    unplaced_bytes,
    unwritten_bytes,
    shared_bytes,
    allocations,
    allocated_bytes,
    allocating_threads,
    interleaved_share,
    dev,
    ino
FROM listed
ORDER BY most DESC NULLS LAST, path, dev, ino, phase DESC
