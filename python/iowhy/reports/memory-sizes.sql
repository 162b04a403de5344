-- title: Memory sizes
-- question: How much of what its calls read and write would be in memory already, if that were so large?
-- stands in for: a run under each limit of memory
-- about: memory_bytes hit_share read_bytes
-- column memory_bytes: memory for file data; the last row is all that is read, bytes
-- column hit_share: of the pages that calls ask for, those in memory from an earlier call, share
-- column read_bytes: what is read from the device then, bytes
-- By how many pages are asked for until a page is asked for again, of a sample of pages. That comes to how many different pages are asked for in
-- so long a stretch, on average (Xiang et al., "HOTL: A Higher Order Theory of Locality", ASPLOS 2013): with room for these, a page that
-- is asked for again within it is there. Memory is taken to keep what was used last; pages that are mapped or read ahead are not seen.
WITH asked AS (
    SELECT
        s.dev,
        s.ino,
        s.ts_ns,
        s.tid,
        s."offset" // r.page_bytes AS first_page,
        (s."offset" + s.ret - 1) // r.page_bytes AS last_page,
        (s.ino * 7919 + s.dev) % 1000003 AS salt
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    CROSS JOIN recording r
    WHERE k.moves_data AND k.kind IN ('read', 'write') AND s.ret > 0 AND s."offset" >= 0 AND s.ino IS NOT NULL
), sampled AS (
    -- Of so many pages one, the same of a file each time.
    SELECT CAST(greatest(1, coalesce(sum(last_page - first_page + 1), 0) // 500000) AS BIGINT) AS every FROM asked
), begun AS (
    SELECT a.*, s.every, a.first_page + (a.salt % s.every - a.first_page % s.every + s.every) % s.every AS page
    FROM asked a
    CROSS JOIN sampled s
), pages AS (
    SELECT dev, ino, ts_ns, tid, every, unnest(generate_series(page, last_page, every)) AS page
    FROM begun
    WHERE page <= last_page
), numbered AS (
    SELECT dev, ino, page, every, row_number() OVER (ORDER BY ts_ns, tid, page) AS place FROM pages
), ordered AS (
    SELECT
        every,
        place,
        lag(place) OVER (PARTITION BY dev, ino, page ORDER BY place) AS before,
        lead(place) OVER (PARTITION BY dev, ino, page ORDER BY place) AS after
    FROM numbered
), totals AS (
    SELECT count(*) AS asked, count(before) AS again, max(every) AS every FROM ordered
), gaps AS (
    -- Until a page is asked for first, again, and from its last time to the end.
    SELECT place - coalesce(before, 0) AS gap, CASE WHEN before IS NULL THEN 0 ELSE 1 END AS again FROM ordered
    UNION ALL
    SELECT t.asked + 1 - o.place, 0 FROM ordered o CROSS JOIN totals t WHERE o.after IS NULL
), steps AS (
    -- Sixteen to a doubling.
    SELECT max(gap) AS gap, count(*) AS gaps, sum(gap) AS length, sum(again) AS again
    FROM gaps
    GROUP BY CAST(ceil(ln(gap) / ln(2) * 16) AS BIGINT)
), later AS (
    SELECT
        gap,
        coalesce(sum(gaps) OVER (ORDER BY gap ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING), 0) AS gaps,
        coalesce(sum(length) OVER (ORDER BY gap ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING), 0) AS length,
        sum(again) OVER (ORDER BY gap) AS again
    FROM steps
), summed AS (
    SELECT
        l.again / t.asked AS hit_share,
        (t.asked - t.again - (l.length - l.gap * l.gaps) / (t.asked - l.gap + 1)) * t.every AS pages
    FROM later l
    CROSS JOIN totals t
), sizes AS (
    SELECT CAST(pow(2, k) AS BIGINT) AS memory_bytes
    FROM (SELECT unnest(generate_series(20, 50)) AS k) AS each_size
), footprint AS (
    SELECT (t.asked - t.again) * t.every * r.page_bytes AS memory_bytes FROM totals t CROSS JOIN recording r
)
SELECT
    z.memory_bytes,
    max(coalesce(s.hit_share, 0)) AS hit_share,
    CAST((1 - max(coalesce(s.hit_share, 0))) * any_value(t.asked * t.every * r.page_bytes) AS BIGINT) AS read_bytes
FROM (
    SELECT s.memory_bytes FROM sizes s CROSS JOIN footprint f WHERE s.memory_bytes < f.memory_bytes
    UNION ALL
    SELECT memory_bytes FROM footprint WHERE memory_bytes > 0
) AS z
CROSS JOIN recording r
CROSS JOIN totals t
LEFT JOIN summed s ON s.pages * r.page_bytes <= z.memory_bytes * 1.001
GROUP BY z.memory_bytes
ORDER BY z.memory_bytes
