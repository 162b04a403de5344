-- title: Files by pattern
-- question: Which files cost what, many alike ones taken together?
-- stands in for: filetop, added up by directory and extension
-- about: pattern files time_ns request_ns request_bytes
-- column pattern: path; with *, of ten files or more that differ in numbers, or of one directory and extension, text
-- column files: files of it, count
-- column calls: system calls on them, count
-- column time_ns: their durations, ns
-- column sync_ns: of time_ns, in fsync-like calls, ns
-- column requests: block requests that they own, count
-- column request_bytes: their bytes, bytes
-- column request_ns: from queue to completion, summed, ns
-- column jump_share: requests that did not begin where the command's request before it of the same direction ended, share
-- column extents_after: contiguous runs on disk after the command, count
-- column deleted: of these files, gone at the end, count
-- Paths are those that files have at the end, as far as they were seen within ten seconds of it.
WITH parts AS (
    SELECT
        *,
        regexp_replace(path, '[^/]*$', '') AS folder,
        regexp_replace(path, '.*/', '') AS name
    FROM file_totals
), alike AS (
    SELECT
        *,
        folder || regexp_replace(name, '[0-9]+', '*', 'g') AS by_number,
        regexp_replace(path, '[0-9]+', '*', 'g') AS by_tree,
        folder || '*' || regexp_replace(regexp_replace(name, '^[.]?[^.]*', ''), '[0-9]+', '*', 'g') AS by_extension
    FROM parts
), counted AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY dev, by_number) AS of_number,
        count(*) OVER (PARTITION BY dev, by_extension) AS of_extension,
        count(*) OVER (PARTITION BY dev, by_tree) AS of_tree
    FROM alike
), named AS (
    SELECT
        *,
        CASE
            WHEN path IS NULL THEN NULL
            WHEN of_number >= 10 AND 2 * of_number >= of_extension THEN by_number
            WHEN of_extension >= 10 THEN by_extension
            WHEN of_tree >= 10 THEN by_tree
            ELSE path
        END AS pattern
    FROM counted
), summed AS (
    SELECT
        pattern,
        CAST(sum(inodes) AS BIGINT) AS files,
        CAST(sum(calls) AS BIGINT) AS calls,
        CAST(sum(time_ns) AS BIGINT) AS time_ns,
        CAST(sum(sync_ns) AS BIGINT) AS sync_ns,
        CAST(sum(requests) AS BIGINT) AS requests,
        CAST(sum(request_bytes) AS BIGINT) AS request_bytes,
        CAST(sum(request_ns) AS BIGINT) AS request_ns,
        sum(jumps) / nullif(sum(steps), 0) AS jump_share,
        CAST(sum(extents_after) AS BIGINT) AS extents_after,
        count(CASE WHEN deleted THEN 1 END) AS deleted
    FROM named
    GROUP BY dev, pattern
)
SELECT *
FROM summed
ORDER BY greatest(coalesce(time_ns, 0), coalesce(request_ns, 0)) DESC, coalesce(request_bytes, 0) DESC, pattern
