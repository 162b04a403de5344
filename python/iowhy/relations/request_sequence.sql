-- title: A read or write of data in the order in which its device got it
-- filtered as: block_requests
-- kept: table
-- The other columns are those of counted_requests.
-- column sent_ns: when it was issued, ns
-- column jump_bytes: distance from the end of the device's previous request, whoever made it; 0 is sequential, bytes
SELECT
    *,
    coalesce(issue_ns, queue_ns) AS sent_ns,
    sector * 512 - lag(sector * 512 + bytes) OVER (
        PARTITION BY dev ORDER BY coalesce(issue_ns, queue_ns), sector
    ) AS jump_bytes
FROM main.counted_requests
WHERE op IN ('read', 'write') AND bytes > 0 AND sector IS NOT NULL
