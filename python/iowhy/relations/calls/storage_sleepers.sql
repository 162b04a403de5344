-- title: A thread some of whose interruptible sleep in calls waits for storage
-- uses: call_kinds, call_sums, named_files, served_filesystems, syscalls
-- filtered as: nothing
-- kept: table
-- The threads of storage_sleeps: the sums of calls say which have any, and only calls that have a ring are looked at one by one.
-- column tgid: process, id
-- column tid: thread, id
-- column collects: whether it waits for what is in flight of a ring, bool
-- column ring: number of that ring or context; NULL if not known, number
WITH with_ring AS (
    SELECT s.tgid, s.tid, s.name, s.dev, s.ino, s.ring, CAST(sum(s.sleeping_ns) AS BIGINT) AS sleeping_ns
    FROM syscalls s
    JOIN call_kinds k ON k.name = s.name
    WHERE s.ring IS NOT NULL AND s.sleeping_ns > 0 AND (k.reaps OR k.kind <> 'collect')
    GROUP BY s.tgid, s.tid, s.name, s.dev, s.ino, s.ring
), others AS (
    -- What is left of the sums is the sleep of calls without a ring.
    SELECT tgid, tid, name, dev, ino
    FROM (
        SELECT tgid, tid, name, dev, ino, sleeping_ns FROM call_sums WHERE sleeping_ns > 0
        UNION ALL
        SELECT tgid, tid, name, dev, ino, -sleeping_ns FROM with_ring
    ) AS slept
    GROUP BY tgid, tid, name, dev, ino
    HAVING sum(sleeping_ns) > 0
)
SELECT DISTINCT tgid, tid, true AS collects, ring FROM with_ring
UNION ALL
SELECT DISTINCT o.tgid, o.tid, true, CAST(NULL AS BIGINT)
FROM others o
JOIN call_kinds k ON k.name = o.name
WHERE k.reaps
UNION ALL
SELECT DISTINCT o.tgid, o.tid, false, CAST(NULL AS BIGINT)
FROM others o
JOIN call_kinds k ON k.name = o.name
JOIN named_files f ON f.dev = o.dev AND f.ino = o.ino
LEFT JOIN served_filesystems u ON u.dev = o.dev
WHERE NOT k.reaps AND f.kind IN ('file', 'directory')
    AND ((k.opens AND u.dev IS NOT NULL) OR (NOT k.opens AND k.kind IN ('read', 'write', 'sync')))
