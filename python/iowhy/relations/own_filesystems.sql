-- title: A filesystem of the command: that it writes to, else that its calls name
-- filtered as: nothing
-- Journals and writeback of the whole machine are recorded, and most of it is somebody else's. Where
-- no calls were recorded either, any filesystem may be its own.
-- kept: table
-- column dev: filesystem, id
WITH written AS (
    SELECT DISTINCT owner_dev AS dev
    FROM main.request_addends
    WHERE in_scope AND op = 'write' AND owner_dev IS NOT NULL
)
SELECT dev FROM written
UNION
SELECT dev FROM main.summed_calls WHERE dev IS NOT NULL AND NOT EXISTS (SELECT 1 FROM written)
UNION
SELECT dev
FROM (SELECT dev FROM main.writeback UNION ALL SELECT dev FROM main.journal_commits) AS a
WHERE NOT EXISTS (SELECT 1 FROM written) AND NOT EXISTS (SELECT 1 FROM main.syscalls)
