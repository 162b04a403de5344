-- title: A filesystem of the command: that it writes to, else that its calls name
-- uses: calls_by_filesystem, journal_commits, request_sums, syscalls, writeback
-- filtered as: nothing
-- Journals and writeback of the whole machine are recorded, and most of it is somebody else's. Where
-- no calls were recorded either, any filesystem may be its own.
-- kept: table
-- column dev: filesystem, id
WITH written AS (
    SELECT DISTINCT owner_dev AS dev
    FROM request_sums
    WHERE in_scope AND op = 'write' AND owner_dev IS NOT NULL
)
SELECT dev FROM written
UNION
SELECT dev FROM calls_by_filesystem WHERE dev IS NOT NULL AND NOT EXISTS (SELECT 1 FROM written)
UNION
SELECT dev
FROM (SELECT dev FROM writeback UNION ALL SELECT dev FROM journal_commits) AS a
WHERE NOT EXISTS (SELECT 1 FROM written) AND NOT EXISTS (SELECT 1 FROM syscalls)
