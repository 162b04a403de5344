-- title: Pages of one file that one call reads or writes through the page cache, of a sample of stretches of files
-- uses: call_kinds, file_cache, file_operations, named_files, nonstorage_files, recording
-- kept: table
-- Of files whose lookups are known only those that have any, so of none read by O_DIRECT alone. A stretch has 128 pages; so many
-- stretches are in the sample that it has about 40,000 pages. Calls for just the page that the one before ended in are left out and counted.
-- column place: order, number
-- column file: number of the file, id
-- column stream: number of the file descriptor, id
-- column first_page: first page, number
-- column last_page: last page, number
-- column before_page: last page of the call before on this descriptor; NULL: its first call, number
-- column end_page: last page of the file, or of the stretch in a sample, number
-- column writes: it writes them, bool
-- column ahead: the kernel reads the file ahead; it has done so, or has read nothing of it, bool
-- column every: one of so many stretches is in the sample, the same of a file each time, count
-- column repeated: calls that were left out, in all, count
-- column read_pages: pages that the other calls read, in all, pages
WITH looked AS (
    SELECT coalesce(sum(lookup_pages), 0) > 0 AS known FROM file_cache WHERE ino IS NOT NULL
), asked AS (
    SELECT
        s.dev,
        s.ino,
        s.ts_ns,
        s.tid,
        s.tgid,
        coalesce(s.fd, -s.tid) AS handle,
        s."offset" // r.page_bytes AS first_page,
        (s."offset" + s.ret - 1) // r.page_bytes AS last_page,
        k.kind = 'write' AS writes,
        coalesce(c.readahead_pages > 0.05 * c.added_pages OR c.added_pages = 0, true) AS ahead,
        (n.size_bytes - 1) // r.page_bytes AS end_page,
        (s.ino * 7919 + s.dev) % 1000003 AS salt
    FROM file_operations s
    JOIN call_kinds k ON k.name = s.name
    CROSS JOIN recording r
    CROSS JOIN looked l
    LEFT JOIN nonstorage_files p ON p.dev = s.dev AND p.ino = s.ino
    LEFT JOIN file_cache c ON c.dev = s.dev AND c.ino = s.ino
    LEFT JOIN named_files n ON n.dev = s.dev AND n.ino = s.ino
    WHERE
        k.moves_data
        AND (k.kind IN ('read', 'write') OR (k.kind = 'copy' AND k.direction = 'read'))
        AND s.ret > 0
        AND s."offset" >= 0
        AND s.ino IS NOT NULL
        AND p.dev IS NULL
        AND (NOT l.known OR c.lookup_pages > 0)
), followed AS (
    SELECT
        a.*,
        lag(last_page) OVER (PARTITION BY dev, ino, tgid, handle ORDER BY ts_ns, tid) AS before_page
    FROM asked a
), whole AS (
    SELECT *, first_page = last_page AND before_page IS NOT DISTINCT FROM first_page AS same FROM followed
), sampled AS (
    SELECT
        CAST(greatest(1, (coalesce(sum(CASE WHEN NOT same THEN last_page - first_page + 1 END), 0) + 39999) // 40000) AS BIGINT) AS every,
        count(CASE WHEN same AND NOT writes THEN 1 END) AS repeated,
        coalesce(sum(CASE WHEN NOT same AND NOT writes THEN last_page - first_page + 1 END), 0) AS read_pages
    FROM whole
), pieces AS (
    SELECT w.*, s.every, s.repeated, s.read_pages, unnest(generate_series(w.first_page // 128, w.last_page // 128)) AS stretch
    FROM whole w
    CROSS JOIN sampled s
    WHERE NOT w.same
)
SELECT
    row_number() OVER (ORDER BY ts_ns, tid, stretch) AS place,
    dense_rank() OVER (ORDER BY dev, ino) AS file,
    dense_rank() OVER (ORDER BY dev, ino, tgid, handle) AS stream,
    greatest(first_page, stretch * 128) AS first_page,
    least(last_page, stretch * 128 + 127) AS last_page,
    CASE WHEN stretch * 128 > first_page THEN stretch * 128 - 1 ELSE before_page END AS before_page,
    least(
        greatest(coalesce(end_page, 0), max(last_page) OVER (PARTITION BY dev, ino)),
        CASE WHEN every > 1 THEN stretch * 128 + 127 END
    ) AS end_page,
    writes,
    ahead,
    every,
    repeated,
    CAST(read_pages AS BIGINT) AS read_pages
FROM pieces
WHERE (stretch * 31 + salt) % every = 0
