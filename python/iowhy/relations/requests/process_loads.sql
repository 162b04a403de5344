-- title: What one process did to the block devices and to the page cache
-- uses: counted_requests, dirtied_by_others, page_cache
-- column tgid: process, id
-- column requests: block requests that it submitted; NULL where it submitted none, count
-- column read_bytes: read by these, bytes
-- column written_bytes: written by these, bytes
-- column request_ns: their latencies, summed, ns
-- column dirtied_pages: pages of files that it made dirty, pages
-- column evicted_pages: pages that it took out of the page cache, or for which the kernel did so in its name, pages
WITH sent AS (
    SELECT
        tgid,
        count(*) AS requests,
        sum(CASE WHEN op = 'read' THEN bytes ELSE 0 END) AS read_bytes,
        sum(CASE WHEN op = 'write' THEN bytes ELSE 0 END) AS written_bytes,
        sum(complete_ns - queue_ns) AS request_ns
    FROM counted_requests
    WHERE tgid IS NOT NULL AND counted
    GROUP BY tgid
), cached AS (
    SELECT tgid, sum(dirtied_pages) AS dirtied_pages, sum(evicted_pages) AS evicted_pages
    FROM (
        SELECT tgid, dirtied_pages, evicted_pages FROM page_cache WHERE tgid IS NOT NULL
        UNION ALL
        SELECT tgid, pages, NULL FROM dirtied_by_others
    ) AS p
    GROUP BY tgid
)
SELECT
    coalesce(s.tgid, c.tgid) AS tgid,
    s.requests, s.read_bytes, s.written_bytes, s.request_ns, c.dirtied_pages, c.evicted_pages
FROM sent s
FULL JOIN cached c ON c.tgid = s.tgid
