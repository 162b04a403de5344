-- title: Which way a process's bytes went, where that is all that tells what its threads waited for
-- filtered as: nothing
-- A process without a reading of its own stands with the bytes of all.
-- column tgid: process, id
-- column read_share: of the bytes that it read or wrote, those read; NULL when it moved none, share
-- when process_io and not waits and not syscalls and not ran waits
WITH own AS (
    SELECT tgid, max(read_bytes) AS read_bytes, max(written_bytes) AS written_bytes
    FROM main.process_io
    GROUP BY tgid
), total AS (
    SELECT sum(read_bytes) AS read_bytes, sum(written_bytes) AS written_bytes FROM own
)
SELECT
    t.tgid,
    coalesce(o.read_bytes, s.read_bytes, 0) / nullif(
        coalesce(o.read_bytes, s.read_bytes, 0) + coalesce(o.written_bytes, s.written_bytes, 0), 0
    ) AS read_share
FROM (SELECT DISTINCT tgid FROM main.thread_time) t
CROSS JOIN total s
LEFT JOIN own o ON o.tgid = t.tgid
-- else
SELECT CAST(NULL AS BIGINT) AS tgid, CAST(NULL AS DOUBLE) AS read_share WHERE false
