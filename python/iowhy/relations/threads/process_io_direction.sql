-- title: Which way a process's bytes went, if that is all that says what its threads waited for
-- uses: process_io, recording, thread_time
-- filtered as: nothing
-- A process without its own reading has the bytes of all.
-- column tgid: process, id
-- column read_share: of the bytes that it read or wrote, those read; NULL when it moved none, share
WITH own AS (
    SELECT tgid, max(read_bytes) AS read_bytes, max(written_bytes) AS written_bytes
    FROM process_io
    GROUP BY tgid
), total AS (
    SELECT sum(read_bytes) AS read_bytes, sum(written_bytes) AS written_bytes FROM own
)
SELECT
    t.tgid,
    coalesce(o.read_bytes, s.read_bytes, 0) / nullif(
        coalesce(o.read_bytes, s.read_bytes, 0) + coalesce(o.written_bytes, s.written_bytes, 0), 0
    ) AS read_share
FROM (SELECT DISTINCT tgid FROM thread_time) t
CROSS JOIN total s
CROSS JOIN recording r
LEFT JOIN own o ON o.tgid = t.tgid
WHERE r.has_bytes AND NOT (r.has_waits OR r.has_calls OR r.ran_waits)
