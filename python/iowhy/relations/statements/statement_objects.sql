-- title: What a statement reads most of: an index, a table or a file
-- uses: _statement_calls, database_objects, named_files
-- kept: table
-- Of the time of its read calls. A place is read again where an earlier read of a statement began there, too: the server's buffer did not
-- keep it, and the page cache did not either if the call waits.
-- column statement_id: statement, id
-- column object: index, table or log; else the file's path, text
-- column share: of the time of its reads, share
-- column reads: cold: it waits, mostly for what is read for the first time; thrashed: for what was read before; cached: it hardly waits, text
WITH every_read AS (
    SELECT
        c.statement_id, coalesce(o.object, f.path) AS object, c.dur_ns, c.blocked_ns,
        row_number() OVER (PARTITION BY c.dev, c.ino, c."offset" ORDER BY c.ts_ns) > 1 AS again
    FROM _statement_calls c
    JOIN named_files f ON f.dev = c.dev AND f.ino = c.ino AND f.kind = 'file'
    LEFT JOIN database_objects o ON o.path = f.path
    WHERE c.kind = 'read' AND c.done_bytes > 0
), summed AS (
    SELECT
        statement_id, object,
        sum(dur_ns) AS dur_ns,
        sum(blocked_ns) AS blocked_ns,
        sum(CASE WHEN again THEN blocked_ns ELSE 0 END) AS again_ns
    FROM every_read
    WHERE object IS NOT NULL
    GROUP BY statement_id, object
), ranked AS (
    SELECT
        *,
        sum(dur_ns) OVER (PARTITION BY statement_id) AS all_ns,
        row_number() OVER (PARTITION BY statement_id ORDER BY dur_ns DESC, object) AS place
    FROM summed
)
SELECT
    statement_id,
    object,
    CAST(dur_ns AS DOUBLE) / nullif(all_ns, 0) AS share,
    CASE
        WHEN 2 * blocked_ns < dur_ns THEN 'cached'
        WHEN 2 * again_ns > blocked_ns THEN 'thrashed'
        ELSE 'cold'
    END AS reads
FROM ranked
WHERE place = 1
