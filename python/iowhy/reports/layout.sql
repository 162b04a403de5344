-- title: Layout on disk
-- question: How contiguous is each file on disk, before and after, and who allocated it how?
-- stands in for: fileplace, filefrag
-- filters: pid container file
-- of the whole run: files are mapped before and after the command, not while it runs
-- about: path phase extents sequentiality median_extent_bytes bytes
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
-- column object: of a database's file, its table, index or log, text
-- The block size is the filesystem's; the page size if not known. What fallocate takes on btrfs is among the
-- extents and not among the allocations: its tracepoints name no file for it.
SELECT
    n.path,
    l.phase,
    l.extents,
    l.sequentiality,
    l.bytes,
    e.median_extent_bytes,
    e.largest_extent_bytes,
    l.mapped_extents,
    l.unplaced_bytes,
    l.unwritten_bytes,
    l.shared_bytes,
    CASE WHEN l.phase = 'after' THEN l.allocations END AS allocations,
    CASE WHEN l.phase = 'after' THEN l.allocated_bytes END AS allocated_bytes,
    CASE WHEN l.phase = 'after' THEN l.allocating_threads END AS allocating_threads,
    CASE WHEN l.phase = 'after' THEN l.interleaved_share END AS interleaved_share,
    l.dev,
    l.ino,
    o.object
FROM (
    SELECT *, max(coalesce(extents, allocations)) OVER (PARTITION BY dev, ino) AS most
    FROM file_layout
) AS l
LEFT JOIN run_percentiles e ON e.phase = l.phase AND e.dev = l.dev AND e.ino = l.ino
LEFT JOIN named_files n ON n.dev = l.dev AND n.ino = l.ino
LEFT JOIN database_objects o ON o.path = n.path
ORDER BY l.most DESC NULLS LAST, n.path, l.dev, l.ino, l.phase DESC
